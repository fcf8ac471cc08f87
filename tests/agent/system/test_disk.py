import math
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.disk import Disk
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named


def _row(name: str, reads: int = 1, sectors: int = 0, writes: int = 0, busy: int = 0) -> str:
    return f" 8 0 {name} {reads} 0 {sectors} 0 {writes} 0 {2 * sectors} 0 0 {busy} 0 0 0 0 0\n"


def _opened(fake: FakeMachine, *rows: str) -> Disk:
    fake.write("proc/diskstats", "".join(rows))
    disk = Disk(fake.machine())
    disk.open()
    return disk


def _devices(disk: Disk) -> set[str]:
    return {series.device for series in disk.series}


def test_sectors_requests_and_busy_time_become_rates(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    disk = _opened(fake, _row("nvme0n1", reads=10))
    assert all(math.isnan(value) for value in disk.read(1.0))
    fake.write("proc/diskstats", _row("nvme0n1", reads=30, sectors=100, writes=8, busy=500))
    assert named(disk, disk.read(3.0)) == {
        "disk.read_bytes_per_second/nvme0n1": 25_600.0,
        "disk.write_bytes_per_second/nvme0n1": 51_200.0,
        "disk.reads_per_second/nvme0n1": 10.0,
        "disk.writes_per_second/nvme0n1": 4.0,
        "disk.busy_percent/nvme0n1": 25.0,
    }
    disk.close()


def test_partitions_of_listed_disks_are_excluded(tmp_path: Path) -> None:
    names = "sda sda1 sdaa nvme0n1 nvme0n1p2 mmcblk0p1 md1 md12 dm-1 dm-12 sdp sdp1 xvda1"
    disk = _opened(FakeMachine(tmp_path), *map(_row, names.split()))
    retained = "sda sdaa nvme0n1 mmcblk0p1 md1 md12 dm-1 dm-12 sdp xvda1"
    assert _devices(disk) == set(retained.split())


def test_loop_devices_memory_disks_and_unused_disks_are_excluded(tmp_path: Path) -> None:
    rows = (_row("loop0"), _row("ram0"), _row("zram0"), _row("sr0"), _row("nbd0", reads=0))
    assert _devices(_opened(FakeMachine(tmp_path), *rows, _row("vda"))) == {"vda"}


def test_an_added_disk_starts_unknown_and_the_others_continue(tmp_path: Path) -> None:
    fake = FakeMachine(tmp_path)
    disk = _opened(fake, _row("sda"), _row("sdb"))
    disk.read(0.0)
    fake.write("proc/diskstats", _row("sda", reads=3) + _row("sdc", reads=9))
    values = named(disk, disk.read(1.0))
    assert _devices(disk) == {"sda", "sdc"}
    assert values["disk.reads_per_second/sda"] == 2.0
    assert math.isnan(values["disk.reads_per_second/sdc"])


def test_series_are_the_same_object_while_the_disks_are_unchanged(tmp_path: Path) -> None:
    disk = _opened(FakeMachine(tmp_path), _row("sda"))
    before = disk.series
    disk.read(0.0)
    assert disk.series is before


def test_collector_is_not_available_without_disks(tmp_path: Path) -> None:
    with pytest.raises(NothingToCollectError, match="diskstats"):
        Disk(FakeMachine(tmp_path).machine()).open()
    (tmp_path / "other").mkdir()
    with pytest.raises(NothingToCollectError, match="no disks"):
        _opened(FakeMachine(tmp_path / "other"), _row("loop0"))


def test_this_machine_reports_disks_or_a_reason() -> None:
    disk = Disk(Machine())
    try:
        disk.open()
    except NothingToCollectError:
        return
    assert len(disk.read(0.0)) == len(disk.series)
    disk.close()
