import math
import os
from pathlib import Path

import pytest

from sonde.agent.system import COLLECTORS, Machine
from sonde.agent.system.process_tree import ProcessTreeUsage
from sonde.errors import NothingToCollectError
from tests.fakes.machine import FakeMachine, named

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def fake(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def _opened(fake: FakeMachine, pid: int = 10) -> ProcessTreeUsage:
    usage = ProcessTreeUsage(fake.machine(job_pid=pid))
    usage.open()
    return usage


def _cpu(usage: ProcessTreeUsage, seconds: float) -> float:
    return named(usage, usage.read(seconds))["process_tree.cpu_percent"]


def test_usage_is_summed_over_the_tree(fake: FakeMachine) -> None:
    fake.process(10, threads=3, rss_pages=100)
    fake.process(11, parent=10, threads=2, rss_pages=50)
    fake.traffic(10, 0, 0)
    fake.traffic(11, 0, 0)
    fake.write("proc/10/fd/0", "")
    fake.write("proc/11/fd/0", "")
    fake.write("proc/11/fd/1", "")
    usage = _opened(fake)
    first = named(usage, usage.read(0.0))
    assert math.isnan(first["process_tree.cpu_percent"])
    assert first["process_tree.open_files"] == 3
    fake.process(10, threads=3, rss_pages=100, ticks=_TICKS)
    fake.process(11, parent=10, threads=2, rss_pages=50, ticks=2 * _TICKS)
    fake.traffic(10, 500, 1000)
    fake.traffic(11, 500, 0)
    values = named(usage, usage.read(2.0))
    assert math.isnan(values.pop("process_tree.open_files"))
    assert math.isnan(values.pop("process_tree.cpu_wait_percent"))
    assert values == {
        "process_tree.processes": 2,
        "process_tree.threads": 5,
        "process_tree.cpu_percent": pytest.approx(150.0),
        "process_tree.rss_bytes": 150 * _PAGE,
        "process_tree.read_bytes_per_second": 500.0,
        "process_tree.write_bytes_per_second": 500.0,
    }
    usage.close()


def test_cpu_wait_is_a_share_of_runnable_time(fake: FakeMachine) -> None:
    fake.process(10)
    fake.process(11, parent=10)
    fake.write("proc/10/schedstat", "5000000000 1000000000 70")
    fake.write("proc/11/schedstat", "0 0 0")
    usage = _opened(fake)
    assert math.isnan(named(usage, usage.read(0.0))["process_tree.cpu_wait_percent"])
    fake.write("proc/10/schedstat", "5200000000 1300000000 90")
    values = named(usage, usage.read(0.5))
    assert values["process_tree.cpu_wait_percent"] == pytest.approx(60.0)
    fake.write("proc/10/schedstat", "5200000900 1300000000 91")  # idle
    assert math.isnan(named(usage, usage.read(1.0))["process_tree.cpu_wait_percent"])
    usage.close()


def test_open_files_are_counted_every_five_seconds(fake: FakeMachine) -> None:
    fake.process(10)
    fake.write("proc/10/fd/0", "")
    usage = _opened(fake)
    counts = [
        named(usage, usage.read(seconds))["process_tree.open_files"]
        for seconds in (0.0, 2.5, 5.0, 5.5)
    ]
    assert [not math.isnan(count) for count in counts] == [True, False, True, False]


def test_cpu_time_of_a_waited_for_child_counts_once(fake: FakeMachine) -> None:
    fake.process(10)
    fake.process(11, parent=10, ticks=5 * _TICKS)
    usage = _opened(fake)
    usage.read(0.0)
    fake.remove(11)
    fake.process(10, waited_ticks=6 * _TICKS)
    assert _cpu(usage, 1.0) == pytest.approx(100.0)


def test_waiting_for_a_child_after_a_reading_causes_no_peak(fake: FakeMachine) -> None:
    fake.process(10)
    fake.process(11, parent=10, ticks=50 * _TICKS)
    usage = _opened(fake)
    usage.read(0.0)
    fake.remove(11)
    assert _cpu(usage, 1.0) == 0.0
    fake.process(10, waited_ticks=50 * _TICKS)
    assert _cpu(usage, 2.0) == 0.0
    fake.process(10, ticks=_TICKS, waited_ticks=50 * _TICKS)
    assert _cpu(usage, 3.0) == pytest.approx(100.0)


def test_count_of_a_child_that_is_never_waited_for_is_dropped_after_one_reading(
    fake: FakeMachine,
) -> None:
    fake.process(10)
    fake.process(11, parent=10, ticks=50 * _TICKS)
    usage = _opened(fake)
    usage.read(0.0)
    fake.remove(11)
    usage.read(1.0)
    usage.read(2.0)
    fake.process(10, ticks=_TICKS)
    assert _cpu(usage, 3.0) == pytest.approx(100.0)


def test_a_child_and_a_parent_that_exit_together_count_once(fake: FakeMachine) -> None:
    fake.process(10)
    fake.process(11, parent=10, ticks=_TICKS)
    fake.process(12, parent=11, ticks=3 * _TICKS)
    usage = _opened(fake)
    usage.read(0.0)
    fake.remove(11)
    fake.remove(12)
    fake.process(10, waited_ticks=5 * _TICKS)
    assert _cpu(usage, 1.0) == pytest.approx(100.0)


def test_short_lived_processes_count_through_their_parent(fake: FakeMachine) -> None:
    fake.process(10)
    usage = _opened(fake)
    usage.read(0.0)
    fake.process(10, waited_ticks=2 * _TICKS)
    assert _cpu(usage, 1.0) == pytest.approx(200.0)


def test_zombies_do_not_count_as_processes(
    fake: FakeMachine,
) -> None:
    fake.process(10)
    fake.process(11, parent=10, state="Z", rss_pages=0)
    usage = _opened(fake)
    assert named(usage, usage.read(0.0))["process_tree.processes"] == 1


def test_disk_traffic_of_processes_of_another_user_is_unknown(fake: FakeMachine) -> None:
    fake.process(10)
    usage = _opened(fake)
    usage.read(0.0)
    assert math.isnan(named(usage, usage.read(1.0))["process_tree.read_bytes_per_second"])


def test_only_long_lived_processes_get_series(fake: FakeMachine) -> None:
    fake.process(10, name="make")
    usage = _opened(fake)
    usage.read(0.0)
    for second in range(1, 40):
        fake.process(100 + second, parent=10, name="cc")
        usage.read(float(second))
        fake.remove(100 + second)
    assert {series.device for series in usage.series} == {"", "10 make"}
    fake.process(10, name="make", ticks=_TICKS // 2)
    values = named(usage, usage.read(39.5))
    assert values["process.cpu_percent/10 make"] == pytest.approx(100.0)
    assert values["process.rss_bytes/10 make"] == 10 * _PAGE


def test_up_to_32_processes_get_series_and_keep_them(
    fake: FakeMachine,
) -> None:
    fake.process(10)
    usage = _opened(fake)
    usage.read(0.0)
    usage.read(20.0)
    for pid in range(100, 150):
        fake.process(pid, parent=10, ticks=pid)
    usage.read(40.0)
    usage.read(60.0)
    shown = {series.device.split()[0] for series in usage.series if series.device}
    assert shown == {"10"} | {str(pid) for pid in range(119, 150)}
    series = usage.series
    fake.process(100, parent=10, ticks=10_000)
    usage.read(80.0)
    assert usage.series is series


def test_an_exited_process_is_unknown_until_its_series_are_removed(fake: FakeMachine) -> None:
    fake.process(10, name="sh")
    fake.process(11, parent=10, name="a")
    usage = _opened(fake)
    usage.read(0.0)
    usage.read(20.0)
    fake.remove(11)
    assert math.isnan(named(usage, usage.read(21.0))["process.rss_bytes/11 a"])
    assert "process.rss_bytes/11 a" not in named(usage, usage.read(40.0))


def test_usage_is_zero_or_unknown_after_all_processes_have_exited(fake: FakeMachine) -> None:
    fake.process(10)
    usage = _opened(fake)
    usage.read(0.0)
    fake.remove(10)
    values = named(usage, usage.read(1.0))
    assert values["process_tree.processes"] == 0
    assert math.isnan(values["process_tree.rss_bytes"])
    assert values["process_tree.cpu_percent"] == 0


def test_collector_is_not_available_without_a_job_process(fake: FakeMachine) -> None:
    with pytest.raises(NothingToCollectError, match="no job process"):
        ProcessTreeUsage(fake.machine()).open()
    with pytest.raises(NothingToCollectError, match="no process 77"):
        _opened(fake, pid=77)


def test_usage_of_this_process_is_measured() -> None:
    usage = ProcessTreeUsage(Machine(job_pid=os.getpid()))
    usage.open()
    usage.read(0.0)
    values = named(usage, usage.read(1.0))
    assert values["process_tree.processes"] >= 1
    assert values["process_tree.rss_bytes"] > 1_000_000
    usage.close()


def test_collector_is_found_by_its_file_name() -> None:
    assert COLLECTORS.load("process_tree") is ProcessTreeUsage
