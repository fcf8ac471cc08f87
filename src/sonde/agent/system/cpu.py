"""Processor time of the node and of each core."""

from collections.abc import Sequence

from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._counters import KernelFile
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
        self._before: list[list[int]] = []
        self._load_seconds = float("-inf")
        self._rename(_lines(self._stat.read()))

    def read(self, seconds: float) -> Sequence[float]:
        lines = _lines(self._stat.read())
        if len(lines) != len(self._before):
            self._rename(lines)
        before, self._before = self._before, [list(map(int, line[1:9])) for line in lines]
        total, *cores = map(_utilization, self._before, before)
        shares = _shares(self._before[0], before[0])
        return (total, *shares, *self._load(seconds), *cores)

    def close(self) -> None:
        self._stat.close()
        self._loadavg.close()

    def _rename(self, lines: list[list[bytes]]) -> None:
        self._before = [[] for _ in lines]  # nothing to compare with yet
        cores = (Series(UTILIZATION, line[0].decode()) for line in lines[1:])
        self.series = (*map(Series, METRICS), *cores)

    def _load(self, seconds: float) -> tuple[float, float]:
        """The kernel computes its mean every 5 seconds; once a second is plenty."""
        if seconds - self._load_seconds < 1:
            return UNKNOWN, UNKNOWN
        self._load_seconds = seconds
        load, _, _, entities, _ = self._loadavg.read().split()
        return float(load), float(entities.partition(b"/")[0])


def _lines(stat: bytes) -> list[list[bytes]]:
    """The words of the lines about processors: the whole node first, then each core."""
    return [line.split(None, 9) for line in stat[: stat.find(b"\nintr")].split(b"\n")]


def _utilization(now: list[int], before: list[int]) -> float:
    if not before:
        return UNKNOWN
    idle = max(now[3] + now[4] - before[3] - before[4], 0)  # the kernel warns that iowait may fall
    busy = sum(now) - now[3] - now[4] - sum(before) + before[3] + before[4]
    whole = busy + idle
    return 100 * busy / whole if whole > 0 else UNKNOWN


def _shares(now: list[int], before: list[int]) -> list[float]:
    """Percent of the whole node's time: user, system, iowait, steal, idle."""
    if not before:
        return [UNKNOWN] * 5
    user, nice, system, idle, iowait, irq, softirq, steal = (
        max(new - old, 0) for new, old in zip(now, before, strict=True)
    )
    whole = user + nice + system + idle + iowait + irq + softirq + steal
    if not whole:
        return [UNKNOWN] * 5
    parts = (user + nice, system + irq + softirq, iowait, steal, idle)
    return [100 * part / whole for part in parts]
