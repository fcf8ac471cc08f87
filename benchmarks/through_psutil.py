"""Collectors that read the machine and the process tree with psutil, for the same sampler.

Written with psutil's own calls, with `oneshot` for each process. Values that Sonde's collectors
read rarely (memory every 500 ms, the load every second; open files, frequencies, free space every
5 seconds or more) are read about as rarely here.
"""

from collections.abc import Sequence

import psutil

from sonde.agent.system import Collector
from sonde.records.metric import MetricInfo, Series

_SLOW_READ_SECONDS = 5.0


class _Numbered(Collector):
    """Unnamed values; the first read determines their number."""

    _last_slow_read = float("-inf")

    def open(self) -> None:
        """Read once to count the values."""
        count = len(self.read(0.0))
        name = type(self).__name__.lower()
        self.series = tuple(Series(MetricInfo(f"{name}.{n}", "", "")) for n in range(count))

    def _is_slow_read_due(self, seconds: float) -> bool:
        if seconds - self._last_slow_read < _SLOW_READ_SECONDS:
            return False
        self._last_slow_read = seconds
        return True


class PsutilLoad(_Numbered):
    """Load averages."""

    interval_seconds = 1.0

    def read(self, seconds: float) -> Sequence[float]:
        """Return the three load averages."""
        return psutil.getloadavg()


class PsutilMemory(_Numbered):
    """Memory and swap."""

    interval_seconds = 0.5

    def read(self, seconds: float) -> Sequence[float]:
        """Return the values that Sonde records, if psutil has them."""
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        return (memory.total, memory.available, memory.used, memory.cached, swap.used)


class PsutilNode(_Numbered):
    """Processors, disks and network."""

    _frequency = 0.0
    _free = 0.0

    def read(self, seconds: float) -> Sequence[float]:
        """Return all values as a flat list."""
        values: list[float] = []
        for core in psutil.cpu_times_percent(percpu=True):
            values += core
        for disk in (psutil.disk_io_counters(perdisk=True) or {}).values():
            values += disk
        for interface in psutil.net_io_counters(pernic=True).values():
            values += interface
        if self._is_slow_read_due(seconds):
            frequency = psutil.cpu_freq()
            self._frequency = frequency.current if frequency else 0.0
            self._free = psutil.disk_usage("/").free
        return [*values, self._frequency, self._free]


class PsutilTree(_Numbered):
    """The job's process and its descendants."""

    interval_seconds = 0.5
    _files = 0.0

    def read(self, seconds: float) -> Sequence[float]:
        """Return sums over the tree."""
        assert self.machine.job_pid is not None
        root = psutil.Process(self.machine.job_pid)
        processes = [root, *root.children(recursive=True)]
        is_slow_read = self._is_slow_read_due(seconds)
        cpu = rss = threads = read = written = files = 0.0
        for process in processes:
            with process.oneshot():
                times = process.cpu_times()
                cpu += times.user + times.system
                rss += process.memory_info().rss
                threads += process.num_threads()
                traffic = process.io_counters()
                read, written = read + traffic.read_bytes, written + traffic.write_bytes
                files += process.num_fds() if is_slow_read else 0
        if is_slow_read:
            self._files = files
        return (len(processes), cpu, rss, threads, read, written, self._files)
