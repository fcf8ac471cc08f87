"""CPU utilization of the node and of each core."""

from collections.abc import Sequence

from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._counters import KernelFile
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

UTILIZATION = MetricInfo("cpu.utilization_percent", "percent", "CPU utilization, without I/O wait")
METRICS = (
    UTILIZATION,
    MetricInfo("cpu.user_percent", "percent", "time in user mode"),
    MetricInfo("cpu.system_percent", "percent", "time in the kernel, including interrupts"),
    MetricInfo("cpu.iowait_percent", "percent", "idle time with outstanding disk requests"),
    MetricInfo("cpu.steal_percent", "percent", "time taken by other virtual machines on the host"),
    MetricInfo("cpu.idle_percent", "percent", "idle time"),
    MetricInfo("cpu.load_1m", "", "load average over 1 minute"),
    MetricInfo("cpu.running_threads", "", "threads that are running or ready to run"),
)


class Cpu(Collector):
    """CPU utilization of the node and of each core, load average and running threads.

    Requires /proc/stat and /proc/loadavg.
    """

    metrics = METRICS

    def open(self) -> None:
        try:
            self._stat = KernelFile(self.machine.proc / "stat")
            self._loadavg = KernelFile(self.machine.proc / "loadavg")
        except OSError as error:
            raise NothingToCollectError(f"{error.filename} does not exist") from error
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
        """Read up to once a second: the kernel updates its average every 5 seconds."""
        if seconds - self._load_seconds < 1:
            return UNKNOWN, UNKNOWN
        self._load_seconds = seconds
        load, _, _, entities, _ = self._loadavg.read().split()
        return float(load), float(entities.partition(b"/")[0])


def _lines(stat: bytes) -> list[list[bytes]]:
    """The fields of the CPU lines: the node first, then each core."""
    return [line.split(None, 9) for line in stat[: stat.find(b"\nintr")].split(b"\n")]


def _utilization(now: list[int], before: list[int]) -> float:
    if not before:
        return UNKNOWN
    # according to the kernel's documentation, iowait may decrease
    idle = max(now[3] + now[4] - before[3] - before[4], 0)
    busy = sum(now) - now[3] - now[4] - sum(before) + before[3] + before[4]
    total = busy + idle
    return 100 * busy / total if total > 0 else UNKNOWN


def _shares(now: list[int], before: list[int]) -> list[float]:
    """Percentages of the node's time: user, system, iowait, steal, idle."""
    if not before:
        return [UNKNOWN] * 5
    user, nice, system, idle, iowait, irq, softirq, steal = (
        max(new - old, 0) for new, old in zip(now, before, strict=True)
    )
    total = user + nice + system + idle + iowait + irq + softirq + steal
    if not total:
        return [UNKNOWN] * 5
    times = (user + nice, system + irq + softirq, iowait, steal, idle)
    return [100 * time / total for time in times]
