"""Systems without /proc, such as macOS, through psutil."""

import os
from collections.abc import Sequence
from typing import Any

from sonde.agent.system import cpu, disk, memory, network, process_tree
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._counters import DeviceRates, Rates
from sonde.errors import NothingToCollectError
from sonde.records.metric import Series

_METRICS = {
    metric.name: metric
    for module in (cpu, disk, memory, network, process_tree)
    for metric in module.METRICS
}
_NODE = (
    *("cpu.utilization_percent", "cpu.user_percent", "cpu.system_percent", "cpu.idle_percent"),
    *("cpu.load_1m", "memory.used_percent", "memory.used_bytes", "memory.total_bytes"),
    *("swap.used_bytes", "swap.total_bytes"),
)
_JOB = tuple(
    f"process_tree.{name}" for name in ("processes", "threads", "cpu_percent", "rss_bytes")
)
_DISK = disk.METRICS[:4]  # busy time is available on Linux only


class Portable(Collector):
    """CPU, memory, disks, network and the job's processes on systems without /proc.

    Requires psutil. Not used on Linux.
    """

    metrics = (
        *(_METRICS[name] for name in (*_NODE, *_JOB)),
        *_DISK,
        *network.METRICS,
    )

    interval_seconds = 0.5
    is_slow = True  # listing all processes takes milliseconds

    def open(self) -> None:
        if (self.machine.proc / "stat").exists():
            raise NothingToCollectError("not used on Linux")
        try:
            import psutil  # noqa: PLC0415 — not installed on Linux
        except ImportError as error:
            raise NothingToCollectError("psutil is not installed") from error
        self._psutil: Any = psutil
        self._times = Rates()
        self._disks = DeviceRates(_DISK, tuple(self._disk_counts()))
        self._networks = DeviceRates(network.METRICS, tuple(self._network_counts()))
        self._job_seconds: dict[tuple[int, float], float] | None = None
        self._seconds = UNKNOWN
        names = _NODE if self.machine.job_pid is None else (*_NODE, *_JOB)
        cores = range(len(psutil.cpu_times(percpu=True)))
        self._fixed = (
            *(Series(_METRICS[name]) for name in names),
            *(Series(cpu.UTILIZATION, f"cpu{core}") for core in cores),
        )
        self._describe()

    def read(self, seconds: float) -> Sequence[float]:
        virtual, swap = self._psutil.virtual_memory(), self._psutil.swap_memory()
        used = virtual.total - virtual.available
        node, cores = self._processors(seconds)
        values = [
            *node,
            *(os.getloadavg()[0], 100 * used / virtual.total, used, virtual.total),
            *(swap.used, swap.total),
            *(self._job(seconds) if self.machine.job_pid is not None else ()),
            *cores,
            *self._disks.per_second(seconds, self._disk_counts()),
            *self._networks.per_second(seconds, self._network_counts()),
        ]
        self._describe()
        return values

    def _describe(self) -> None:
        series = (*self._fixed, *self._disks.series, *self._networks.series)
        if series != self.series:
            self.series = series

    def _processors(self, seconds: float) -> tuple[list[float], list[float]]:
        """Return the node's utilization, user, system and idle percent, and cores' utilization."""
        counts: list[float] = []
        for core in self._psutil.cpu_times(percpu=True):
            counts += (core.user + getattr(core, "nice", 0.0), core.system, core.idle)
        rates = self._times.per_second(seconds, counts)
        user, system, idle = rates[::3], rates[1::3], rates[2::3]
        node = [_share(sum(rates_of_kind), sum(rates)) for rates_of_kind in (user, system, idle)]
        cores = [
            _share(used + kernel, used + kernel + rest)
            for used, kernel, rest in zip(user, system, idle, strict=True)
        ]
        return [node[0] + node[1], *node], cores

    def _job(self, seconds: float) -> tuple[float, ...]:
        elapsed, self._seconds = seconds - self._seconds, seconds
        used: dict[tuple[int, float], float] = {}
        threads = rss = 0
        for process in self._job_processes():
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    used[process.pid, process.create_time()] = times.user + times.system
                    threads += process.num_threads()
                    rss += process.memory_info().rss
            except self._psutil.Error:  # exited, or owned by another user
                continue
        before, self._job_seconds = self._job_seconds, used
        if before is None:
            return len(used), threads, UNKNOWN, rss
        spent = sum(max(now - before.get(key, 0.0), 0.0) for key, now in used.items())
        return len(used), threads, 100 * spent / elapsed if elapsed > 0 else UNKNOWN, rss

    def _job_processes(self) -> list[Any]:
        try:
            root = self._psutil.Process(self.machine.job_pid)
            return [root, *root.children(recursive=True)]
        except self._psutil.Error:
            return []

    def _disk_counts(self) -> dict[str, tuple[float, ...]]:
        counters = self._psutil.disk_io_counters(perdisk=True) or {}
        return {
            name: (
                disk_counters.read_bytes,
                disk_counters.write_bytes,
                disk_counters.read_count,
                disk_counters.write_count,
            )
            for name, disk_counters in counters.items()
        }

    def _network_counts(self) -> dict[str, tuple[float, ...]]:
        return {
            name: (
                *(
                    counters.bytes_recv,
                    counters.bytes_sent,
                    counters.packets_recv,
                    counters.packets_sent,
                ),
                counters.errin + counters.errout,
                counters.dropin + counters.dropout,
            )
            for name, counters in self._psutil.net_io_counters(pernic=True).items()
            if not name.startswith("lo") and (counters.packets_recv or counters.packets_sent)
        }


def _share(value: float, total: float) -> float:
    return 100 * value / total if total > 0 else UNKNOWN
