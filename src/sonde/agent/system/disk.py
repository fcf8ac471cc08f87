"""Disk traffic."""

from collections.abc import Sequence

from sonde.agent.system._collector import Collector
from sonde.agent.system._counters import DeviceRates, KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo

METRICS = (
    MetricInfo("disk.read_bytes_per_second", "bytes_per_second", "read from the disk"),
    MetricInfo("disk.write_bytes_per_second", "bytes_per_second", "written to the disk"),
    MetricInfo("disk.reads_per_second", "per_second", "completed read requests"),
    MetricInfo("disk.writes_per_second", "per_second", "completed write requests"),
    MetricInfo("disk.busy_percent", "percent", "time with outstanding requests"),
)
_SECTOR_BYTES = 512  # in /proc/diskstats, for all disks
_MILLISECONDS_TO_PERCENT = 0.1
_NOT_A_DISK = (b"loop", b"ram", b"zram", b"sr", b"fd")


class Disk(Collector):
    """Disk traffic: bytes and requests per second, and busy time.

    Requires /proc/diskstats. Records disks that were used since boot, and partitions whose disk is
    not listed.
    """

    metrics = METRICS

    def open(self) -> None:
        try:
            self._diskstats = KernelFile(self.machine.proc / "diskstats")
        except OSError as error:
            raise NothingToCollectError(f"{error.filename} does not exist") from error
        self._content = b""
        self._last: dict[str, tuple[float, ...]] = {}
        self._names: list[bytes] = []
        self._disks: frozenset[bytes] = frozenset()
        counts = self._counts()
        if not self._disks:
            self._diskstats.close()
            raise NothingToCollectError("no disks")
        self._rates = DeviceRates(METRICS, tuple(counts))
        self.series = self._rates.series

    def read(self, seconds: float) -> Sequence[float]:
        values = self._rates.per_second(seconds, self._counts())
        self.series = self._rates.series
        return values

    def close(self) -> None:
        self._diskstats.close()

    def _counts(self) -> dict[str, tuple[float, ...]]:
        content = self._diskstats.read()
        if content == self._content:  # usually no disk is used
            return self._last
        self._content = content
        rows = [line.split(None, 13) for line in content.splitlines()]
        names = [row[2] for row in rows]
        if names != self._names:
            self._names = names
            self._disks = frozenset(names) - _excluded(names)
        self._last = {
            row[2].decode(): _counters(row)
            for row in rows
            if row[2] in self._disks and (row[3] != b"0" or row[7] != b"0")
        }
        return self._last


def _counters(row: list[bytes]) -> tuple[float, ...]:
    return (
        int(row[5]) * _SECTOR_BYTES,
        int(row[9]) * _SECTOR_BYTES,
        int(row[3]),
        int(row[7]),
        int(row[12]) * _MILLISECONDS_TO_PERCENT,
    )


def _excluded(names: list[bytes]) -> set[bytes]:
    """Partitions of a listed disk, and devices that are not disks."""
    listed = set(names)
    return {name for name in names if name.startswith(_NOT_A_DISK) or _disk_of(name) in listed}


def _disk_of(partition: bytes) -> bytes:
    """sda1 → sda, nvme0n1p2 → nvme0n1, md127 → md, which is not a disk."""
    stem = partition.rstrip(b"0123456789")
    if stem == partition:
        return b""
    return stem[:-1] if stem.endswith(b"p") and stem[-2:-1].isdigit() else stem
