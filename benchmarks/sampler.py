"""What it costs to watch a machine and a small job on it: CPU time, in percent of one core."""

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
_MOST_PERCENT = 0.5
_LEAST_RATIO = 3.0
# what psutil has too: pressure and control groups, which it has not, are not compared
_ALIKE = ("cpu", "cpu_frequency", "memory", "disk", "disk_space", "network", "process_tree")
_NO_BUDGET = 100.0  # the pace must stay as it is while it is measured
_ALL_DUE = 60.0  # an interval so long that every collector is due at every tick

Open = Callable[[int], dict[str, Collector]]


def main() -> list[Row]:
    """Both cadences ticking for real, ours and psutil's; one whole tick of each; the launcher."""
    rows = []
    with process_tree() as pid:
        for what, interval in (
            ("everything sampled at 500 ms", 0.5),
            ("system at 100 ms, process tree at 500 ms", 0.1),
        ):
            turns = [
                (
                    _percent_of_a_core(_ours, pid, interval),
                    _percent_of_a_core(_alike, pid, interval),
                    _percent_of_a_core(_through_psutil, pid, interval),
                )
                for _ in range(_TURNS)
            ]
            rows.append(_judged(what, turns))
        ours, theirs = _tick_milliseconds(_ours, pid), _tick_milliseconds(_through_psutil, pid)
    note = f"CPU time, in a loop, medians of {_ROUNDS}; warmer caches than real ticking has"
    rows.append(Row("one tick of everything", ours, "ms", "", None, "psutil", theirs, note))
    return [*rows, _launcher()]


def _judged(what: str, turns: Sequence[tuple[float, float, float]]) -> Row:
    ours, alike, theirs = (statistics.median(one) for one in zip(*turns, strict=True))
    each = ", ".join(f"{one:.2f}" for one, _, _ in turns)
    return Row(
        what,
        ours,
        "% of a core",
        bar=f"≤ {_MOST_PERCENT} %, ≥ {_LEAST_RATIO:g}× cheaper",
        is_met=ours <= _MOST_PERCENT and theirs >= _LEAST_RATIO * alike,
        alternative="psutil in the same sampler",
        alternative_measured=theirs,
        note=f"median of {each} %; {alike:.2f} % for what psutil has too, which is "
        f"{theirs / alike:.1f}× cheaper than psutil; CPU time over {_SECONDS:g} s each, in turns, "
        f"9 processes, flush every {_FLUSH_SECONDS:g} s",
    )


def _ours(pid: int) -> dict[str, Collector]:
    return open_collectors(Machine(job_pid=pid, paths=(Path.cwd(),)))[0]


def _alike(pid: int) -> dict[str, Collector]:
    return open_collectors(Machine(job_pid=pid, paths=(Path.cwd(),)), _ALIKE)[0]


def _through_psutil(pid: int) -> dict[str, Collector]:
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
    """All threads of this process: ticks, slow collectors, flushes and writing."""
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock()
        writer = Writer(open_backend(folder), node_folder("here"), clock)
        sampler = Sampler(collectors(pid), writer, clock, interval, _NO_BUDGET)
        writer.outbox.start()
        sampler.start(_FLUSH_SECONDS)
        time.sleep(1.0)  # the first tick finds files and processes, the others know them
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
    """The real thing: `sonde run` around the same tree, once it has started."""
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
        "the whole launcher at 500 ms, after its start",
        100 * used / _SECONDS,
        "% of a core",
        note="sampling, writing, heartbeats and listening for requests; in steps of 0.05 %",
    )


def _process_seconds(pid: int) -> float:
    """User and system time of a process, which the kernel counts in hundredths."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
