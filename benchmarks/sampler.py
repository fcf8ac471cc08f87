"""CPU time of sampling a machine and a small job, as a percentage of one core."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.report import Row
from benchmarks.through_psutil import PsutilLoad, PsutilMemory, PsutilNode, PsutilTree
from benchmarks.workload import COMMAND, process_tree
from sonde.agent.sampler import Sampler, open_collectors
from sonde.agent.system import Collector, Machine
from sonde.clock import SystemClock
from sonde.store.backends import open_backend
from sonde.store.layout import node_folder
from sonde.store.writer import Writer

_SECONDS = 12.0
_FLUSH_SECONDS = 5.0
_TURNS = 3
_ROUNDS = 9
_TICKS_PER_ROUND = 50
_MAX_PERCENT = 0.5
_MIN_RATIO = 3.0
# psutil has no pressure and control group metrics, so they are not compared
_COMPARABLE = ("cpu", "cpu_frequency", "memory", "disk", "disk_space", "network", "process_tree")
_NO_BUDGET = 100.0  # keeps the sampling interval constant
_ALL_DUE = 60.0  # longer than all intervals: every collector is due at every tick

Open = Callable[[int], dict[str, Collector]]


def main() -> list[Row]:
    """Measure two sampling intervals, one sample, and the launcher; compare with psutil."""
    rows = []
    with process_tree() as pid:
        for what, interval in (
            ("all collectors at 500 ms", 0.5),
            ("system at 100 ms, process tree at 500 ms", 0.1),
        ):
            turns = [
                (
                    _percent_of_a_core(_all_collectors, pid, interval),
                    _percent_of_a_core(_comparable_collectors, pid, interval),
                    _percent_of_a_core(_psutil_collectors, pid, interval),
                )
                for _ in range(_TURNS)
            ]
            rows.append(_comparison(what, turns))
        ours, theirs = (
            _tick_milliseconds(_all_collectors, pid),
            _tick_milliseconds(_psutil_collectors, pid),
        )
    note = f"CPU time in a loop, medians of {_ROUNDS}; caches are warmer than in real sampling"
    rows.append(Row("one sample of all collectors", ours, "ms", "", None, "psutil", theirs, note))
    return [*rows, _launcher()]


def _comparison(what: str, turns: Sequence[tuple[float, float, float]]) -> Row:
    ours, comparable, theirs = (
        statistics.median(percents) for percents in zip(*turns, strict=True)
    )
    runs = ", ".join(f"{percents:.2f}" for percents, _, _ in turns)
    return Row(
        what,
        ours,
        "% of one core",
        bar=f"≤ {_MAX_PERCENT}%, ≥ {_MIN_RATIO:g}× cheaper",
        is_met=ours <= _MAX_PERCENT and theirs >= _MIN_RATIO * comparable,
        alternative="psutil in the same sampler",
        alternative_measured=theirs,
        note=f"median of {runs}%; {comparable:.2f}% for metrics that psutil also has, "
        f"{theirs / comparable:.1f}× cheaper than psutil; CPU time over {_SECONDS:g} s each, "
        f"alternating, 9 processes, flush every {_FLUSH_SECONDS:g} s",
    )


def _all_collectors(pid: int) -> dict[str, Collector]:
    return open_collectors(Machine(job_pid=pid, paths=(Path.cwd(),)))[0]


def _comparable_collectors(pid: int) -> dict[str, Collector]:
    return open_collectors(Machine(job_pid=pid, paths=(Path.cwd(),)), _COMPARABLE)[0]


def _psutil_collectors(pid: int) -> dict[str, Collector]:
    machine = Machine(job_pid=pid)
    collectors: dict[str, Collector] = {
        "load": PsutilLoad(machine),
        "memory": PsutilMemory(machine),
        "node": PsutilNode(machine),
        "tree": PsutilTree(machine),
    }
    for collector in collectors.values():
        collector.open()
    return collectors


def _percent_of_a_core(collectors: Open, pid: int, interval: float) -> float:
    """Measure all threads of this process: samples, slow collectors, flushes and writing."""
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock()
        writer = Writer(open_backend(folder), node_folder("here"), clock)
        sampler = Sampler(collectors(pid), writer, clock, interval, _NO_BUDGET)
        writer.outbox.start()
        sampler.start(_FLUSH_SECONDS)
        time.sleep(1.0)  # the first sample discovers files and processes
        started, before = time.perf_counter(), time.process_time()
        time.sleep(_SECONDS)
        cpu, wall = time.process_time() - before, time.perf_counter() - started
        sampler.stop(_FLUSH_SECONDS)
        writer.close(_FLUSH_SECONDS)
    return 100 * cpu / wall


def _tick_milliseconds(collectors: Open, pid: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock()
        writer = Writer(open_backend(folder), node_folder("here"), clock)
        sampler = Sampler(collectors(pid), writer, clock, _ALL_DUE, _NO_BUDGET)
        sampler.tick()
        rounds = [_cpu_seconds(partial(_ticks, sampler)) for _ in range(_ROUNDS)]
        sampler.stop(_FLUSH_SECONDS)
    return 1000 * statistics.median(rounds) / _TICKS_PER_ROUND


def _ticks(sampler: Sampler) -> None:
    for _ in range(_TICKS_PER_ROUND):
        sampler.tick()


def _cpu_seconds(work: Callable[[], None]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


def _launcher() -> Row:
    """Measure `sonde run` with the same process tree, after startup."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "sonde", "run", "--quiet", "--store", folder, *COMMAND]
        with subprocess.Popen(words, stdin=subprocess.PIPE) as launcher:
            time.sleep(3.0)
            before = _process_seconds(launcher.pid)
            time.sleep(_SECONDS)
            used = _process_seconds(launcher.pid) - before
            assert launcher.stdin is not None
            launcher.stdin.close()
    return Row(
        "complete launcher at 500 ms, after startup",
        100 * used / _SECONDS,
        "% of one core",
        note="sampling, writing, heartbeats and requests; resolution 0.05%",
    )


def _process_seconds(pid: int) -> float:
    """Return user and system time of a process, which the kernel counts in 10 ms ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
