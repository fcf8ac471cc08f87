"""Processor time of the node and of each core."""

from collections.abc import Sequence

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

    def open(self) -> None:
        try:
            self._stat = KernelFile(self.machine.proc / "stat")
            self._loadavg = KernelFile(self.machine.proc / "loadavg")
        except OSError as error:
            raise NothingToCollectError(f"no {error.filename}") from error
        self._columns: list[list[int]] = []
        self._rename(_rows(self._stat.read())[0])

    def read(self, seconds: float) -> Sequence[float]:
        names, columns = _rows(self._stat.read())
        if names != self._names:
            self._rename(names)
        before, self._columns = self._columns, columns
        load, _, _, entities, _ = self._loadavg.read().split()
        running = float(entities.partition(b"/")[0])
        if not before:
            return (*[UNKNOWN] * 6, float(load), running, *[UNKNOWN] * (len(names) - 1))
        total, *cores = _utilization(columns, before)
        return (total, *_shares(columns, before), float(load), running, *cores)

    def close(self) -> None:
        self._stat.close()
        self._loadavg.close()

    def _rename(self, names: list[bytes]) -> None:
        self._names = names
        self._columns = []
        cores = (Series(UTILIZATION, name.decode()) for name in names[1:])
        self.series = (*map(Series, METRICS), *cores)


def _rows(stat: bytes) -> tuple[list[bytes], list[list[int]]]:
    """The first column of the processors' lines, and the eight that follow as numbers."""
    # One split over all lines and slices by column: a third of the time of line by line
    width = len(stat[: stat.index(b"\n")].split())
    words = stat[: stat.find(b"\nintr")].split()
    return words[::width], [list(map(int, words[column::width])) for column in range(1, 9)]


def _utilization(now: list[list[int]], before: list[list[int]]) -> list[float]:
    busy_now, idle_now = _busy_and_idle(now)
    busy_before, idle_before = _busy_and_idle(before)
    values = []
    for new, old, new_idle, old_idle in zip(
        busy_now, busy_before, idle_now, idle_before, strict=True
    ):
        busy = new - old
        # The kernel warns that iowait may fall
        whole = busy + max(new_idle - old_idle, 0)
        values.append(100 * busy / whole if whole > 0 else UNKNOWN)
    return values


def _busy_and_idle(columns: list[list[int]]) -> tuple[list[int], list[int]]:
    user, nice, system, idle, iowait, irq, softirq, steal = columns
    return (
        list(map(sum, zip(user, nice, system, irq, softirq, steal, strict=True))),
        list(map(sum, zip(idle, iowait, strict=True))),
    )


def _shares(now: list[list[int]], before: list[list[int]]) -> list[float]:
    """Percent of the whole node's time: user, system, iowait, steal, idle."""
    user, nice, system, idle, iowait, irq, softirq, steal = (
        max(new[0] - old[0], 0) for new, old in zip(now, before, strict=True)
    )
    whole = user + nice + system + idle + iowait + irq + softirq + steal
    if not whole:
        return [UNKNOWN] * 5
    parts = (user + nice, system + irq + softirq, iowait, steal, idle)
    return [100 * part / whole for part in parts]
