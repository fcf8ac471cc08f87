"""Processor time of the node and of each core."""

from collections.abc import Sequence
from operator import add, sub
from typing import NamedTuple

from sonde.collect.system._collector import UNKNOWN, Collector
from sonde.collect.system._counters import KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

UTILIZATION = MetricInfo(
    "cpu.utilization_percent", "percent", "time spent on anything, waiting for disks left out"
)
METRICS = (
    UTILIZATION,
    MetricInfo("cpu.user_percent", "percent", "time in programs"),
    MetricInfo("cpu.system_percent", "percent", "time in the kernel, interrupts included"),
    MetricInfo("cpu.iowait_percent", "percent", "idle time with a disk request on its way"),
    MetricInfo("cpu.steal_percent", "percent", "time the host gave to other virtual machines"),
    MetricInfo("cpu.idle_percent", "percent", "time with nothing to do"),
    MetricInfo("cpu.load_1m", "", "threads running or in uninterruptible sleep, 1-minute mean"),
    MetricInfo("cpu.running_threads", "", "threads running or ready to run at this moment"),
)


class Cpu(Collector):
    """Processor time of the node and of each core, with load and running threads.

    Needs /proc/stat and /proc/loadavg.
    """

    metrics = METRICS

    def open(self) -> None:
        try:
            self._stat = KernelFile(self.machine.proc / "stat")
            self._loadavg = KernelFile(self.machine.proc / "loadavg")
        except OSError as error:
            raise NothingToCollectError(f"no {error.filename}") from error
        self._before: _Times | None = None
        self._rename(_times(self._stat.read()).names)

    def read(self, seconds: float) -> Sequence[float]:
        times = _times(self._stat.read())
        if times.names != self._names:
            self._rename(times.names)
        before, self._before = self._before, times
        load, _, _, entities, _ = self._loadavg.read().split()
        running = float(entities.partition(b"/")[0])
        if before is None:
            return (*[UNKNOWN] * 6, float(load), running, *[UNKNOWN] * (len(times.names) - 1))
        total, *cores = _utilization(times, before)
        return (total, *_shares(times.node, before.node), float(load), running, *cores)

    def close(self) -> None:
        self._stat.close()
        self._loadavg.close()

    def _rename(self, names: list[bytes]) -> None:
        self._names = names
        self._before = None
        cores = (Series(UTILIZATION, name.decode()) for name in names[1:])
        self.series = (*map(Series, METRICS), *cores)


class _Times(NamedTuple):
    """Ticks since the machine started; the first name stands for the whole node."""

    names: list[bytes]
    busy: list[int]
    idle: list[int]
    node: list[int]  # user, nice, system, idle, iowait, irq, softirq, steal


def _times(stat: bytes) -> _Times:
    # One split over all lines and slices by column: half the time of line by line
    width = len(stat[: stat.index(b"\n")].split())
    words = stat[: stat.find(b"\nintr")].split()
    columns = [list(map(int, words[column::width])) for column in range(1, 9)]
    user, nice, system, idle, iowait, irq, softirq, steal = columns
    return _Times(
        names=words[::width],
        busy=list(map(sum, zip(user, nice, system, irq, softirq, steal, strict=True))),
        idle=list(map(add, idle, iowait)),
        node=[column[0] for column in columns],
    )


def _utilization(now: _Times, before: _Times) -> list[float]:
    values = []
    for busy, idle in zip(
        map(sub, now.busy, before.busy), map(sub, now.idle, before.idle), strict=True
    ):
        whole = busy + max(idle, 0)  # the kernel warns that iowait may fall
        values.append(100 * busy / whole if whole > 0 else UNKNOWN)
    return values


def _shares(now: list[int], before: list[int]) -> list[float]:
    """Percent of the whole node's time: user, system, iowait, steal, idle."""
    user, nice, system, idle, iowait, irq, softirq, steal = (
        max(new - old, 0) for new, old in zip(now, before, strict=True)
    )
    whole = user + nice + system + idle + iowait + irq + softirq + steal
    if not whole:
        return [UNKNOWN] * 5
    parts = (user + nice, system + irq + softirq, iowait, steal, idle)
    return [100 * part / whole for part in parts]
