"""Limits and usage of the job's control group."""

from collections.abc import Sequence
from pathlib import Path

from sonde.agent.system import _cgroups as cgroups
from sonde.agent.system._collector import UNKNOWN, Collector
from sonde.agent.system._counters import KernelFile, Rates
from sonde.errors import NothingToCollectError
from sonde.records.metric import MetricInfo, Series

CPUS_AVAILABLE = MetricInfo(
    "cgroup.cpus_available", "", "cores available to the job, by affinity, cpuset and quota"
)
MEMORY_LIMIT = MetricInfo("cgroup.memory_limit_bytes", "bytes", "memory limit of the group")
QUOTA = MetricInfo("cgroup.cpu_quota_cores", "", "CPU quota of the group, in cores")
MEMORY_USED = MetricInfo(
    "cgroup.memory_used_bytes", "bytes", "memory used by the group, including page cache"
)
MEMORY_RECLAIMABLE = MetricInfo(
    "cgroup.memory_reclaimable_bytes", "bytes", "reclaimable page cache of the group"
)
THROTTLING = (
    MetricInfo(
        "cgroup.throttled_percent",
        "percent",
        "share of scheduling periods with an exhausted CPU quota",
    ),
    MetricInfo(
        "cgroup.throttled_seconds_per_second",
        "seconds_per_second",
        "time in which the group was throttled by its CPU quota",
    ),
)
_LIMITS_SECONDS = 10.0


class Cgroup(Collector):
    """Limits and usage of the job's control group, and the number of available cores.

    Requires /proc/<pid>/cgroup and cgroup version 1 or 2. Includes limits of parent groups: the
    lowest limit is recorded, with the usage of its group. Limits that are not set at the start of
    the job have no series. Limits are read every 10 seconds.
    """

    metrics = (CPUS_AVAILABLE, MEMORY_LIMIT, QUOTA, MEMORY_USED, MEMORY_RECLAIMABLE, *THROTTLING)

    interval_seconds = 2.0

    def open(self) -> None:
        memory = cgroups.folders(self.machine, "memory")
        cpu = cgroups.folders(self.machine, "cpu")
        if not memory and not cpu:
            raise NothingToCollectError(f"no control groups in {self.machine.sys / 'fs/cgroup'}")
        limited = cgroups.tightest(memory, cgroups.memory_limit)
        counted = (limited,) if limited else memory
        self._used = _open_first(counted, ("memory.current", "memory.usage_in_bytes"))
        self._memory_stat = _open_first(counted, ("memory.stat",))
        quota = cgroups.tightest(cpu, cgroups.cpu_quota)
        self._cpu_stat = _open_first((quota,) if quota else (), ("cpu.stat",))
        self._memory, self._cpu = limited, quota
        self._rates = Rates()
        self._limits_seconds = float("-inf")
        metrics = (
            CPUS_AVAILABLE,
            *((MEMORY_LIMIT,) if limited else ()),
            *((QUOTA,) if quota else ()),
            *((MEMORY_USED,) if self._used else ()),
            *((MEMORY_RECLAIMABLE,) if self._memory_stat else ()),
            *(THROTTLING if self._cpu_stat else ()),
        )
        self.series = tuple(map(Series, metrics))

    def read(self, seconds: float) -> Sequence[float]:
        values = self._limits(seconds)
        if self._used:
            values.append(_number(_content(self._used)))
        if self._memory_stat:
            stat = _content(self._memory_stat)
            values.append(_number(_after(stat, b"total_inactive_file ", b"inactive_file ")))
        if self._cpu_stat:
            values += self._throttling(_content(self._cpu_stat), seconds)
        return values

    def close(self) -> None:
        for file in (self._used, self._memory_stat, self._cpu_stat):
            if file:
                file.close()

    def _limits(self, seconds: float) -> list[float]:
        is_due = seconds - self._limits_seconds >= _LIMITS_SECONDS
        if is_due:
            self._limits_seconds = seconds
        limits = [cgroups.cpus_available(self.machine) if is_due else cgroups.NO_LIMIT]
        if self._memory:
            limits.append(cgroups.memory_limit(self._memory) if is_due else cgroups.NO_LIMIT)
        if self._cpu:
            limits.append(cgroups.cpu_quota(self._cpu) if is_due else cgroups.NO_LIMIT)
        return [UNKNOWN if limit == cgroups.NO_LIMIT else limit for limit in limits]

    def _throttling(self, stat: bytes, seconds: float) -> tuple[float, float]:
        microseconds, nanoseconds = (
            _after(stat, b"throttled_usec "),
            _after(stat, b"throttled_time "),
        )
        throttled = _number(microseconds) / 1e6 if microseconds else _number(nanoseconds) / 1e9
        counts = (_number(_after(stat, b"nr_periods ")), _number(_after(stat, b"nr_throttled ")))
        rates = self._rates.per_second(seconds, (*counts, throttled))
        periods, throttled_periods, throttled_seconds = rates
        # no period passes while the group is idle
        return (100 * throttled_periods / periods if periods else 0.0), throttled_seconds


def _open_first(groups: Sequence[Path], names: Sequence[str]) -> KernelFile | None:
    for group in groups:
        for name in names:
            if (group / name).exists():
                return KernelFile(group / name)
    return None


def _content(file: KernelFile) -> bytes:
    try:
        return file.read()
    except OSError:  # the group was removed
        return b""


def _after(stat: bytes, *names: bytes) -> bytes:
    """The number after the first name that exists."""
    for name in names:
        _, separator, rest = stat.partition(name)
        if separator:
            return rest[: rest.find(b"\n")]
    return b""


def _number(digits: bytes) -> float:
    return int(digits) if digits else UNKNOWN
