import math
import os
import sys
from pathlib import Path

import pytest

from sonde.agent.system import COLLECTORS, Collector, Machine
from sonde.agent.system.portable import Portable
from sonde.errors import NothingToCollectError
from tests.fakes.machine import named


def _elsewhere(folder: Path, job_pid: int | None = None) -> Machine:
    """Return this machine without /proc."""
    return Machine(proc=folder / "none", job_pid=job_pid)


def test_collector_is_not_used_on_linux(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu\n")
    with pytest.raises(NothingToCollectError, match="not used on Linux"):
        Portable(Machine(proc=tmp_path)).open()


def test_collector_is_not_available_without_psutil(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(NothingToCollectError, match="psutil is not installed"):
        Portable(_elsewhere(tmp_path)).open()


def test_a_machine_without_proc_is_read_through_psutil(tmp_path: Path) -> None:
    portable = Portable(_elsewhere(tmp_path, os.getpid()))
    portable.open()
    first = named(portable, portable.read(0.0))
    assert math.isnan(first["cpu.utilization_percent"])
    series = portable.series
    values = named(portable, portable.read(1.0))
    assert portable.series is series
    assert values["memory.total_bytes"] > values["memory.used_bytes"] > 0
    assert values["process_tree.processes"] >= 1
    assert values["process_tree.rss_bytes"] > 1_000_000
    assert values["process_tree.cpu_percent"] >= 0
    portable.close()


def test_job_metrics_have_no_series_without_a_job(tmp_path: Path) -> None:
    portable = Portable(_elsewhere(tmp_path))
    portable.open()
    assert not any("process_tree" in key for key in named(portable, portable.read(0.0)))


def test_an_ended_job_has_no_processes(tmp_path: Path) -> None:
    portable = Portable(_elsewhere(tmp_path, job_pid=2**30))
    portable.open()
    assert named(portable, portable.read(0.0))["process_tree.processes"] == 0


def test_metrics_equal_those_of_the_other_collectors(tmp_path: Path) -> None:
    portable = Portable(_elsewhere(tmp_path, os.getpid()))
    portable.open()
    rest: set[object] = set()
    for name in ("cpu", "memory", "disk", "network", "process_tree"):
        collector: Collector = COLLECTORS.load(name)(Machine(job_pid=os.getpid()))
        try:
            collector.open()
        except NothingToCollectError:
            continue
        rest |= {series.metric for series in collector.series}
        collector.close()
    assert {series.metric for series in portable.series if "disk" not in series.key} <= rest
