"""The control groups of a job and their limits.

Supports cgroup versions 1, 2 and hybrid setups, detected by their files.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from sonde.agent.system._collector import Machine

NO_LIMIT = float("inf")
_HUGE = 1 << 60  # version 1 represents "no limit" as a number near the maximum


def folders(machine: Machine, controller: str) -> tuple[Path, ...]:
    """The job's control group for a controller and its parents, innermost first."""
    unified = ""
    for line in text(_process(machine) / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and (root := _mount(machine, controller)):
            return _upwards(root, path)
        if not controllers:
            unified = path
    for root in (machine.sys / "fs/cgroup", machine.sys / "fs/cgroup/unified"):
        if (root / "cgroup.controllers").exists():
            return _upwards(root, unified)
    return ()


def tightest(groups: Iterable[Path], limit: Callable[[Path], float]) -> Path | None:
    """The group with the lowest limit; None if there is no limit."""
    limited = [group for group in groups if limit(group) < NO_LIMIT]
    return min(limited, key=limit, default=None)


def memory_limit(group: Path) -> float:
    """The memory limit of a group in bytes."""
    limit = text(group / "memory.max") or text(group / "memory.limit_in_bytes")
    return float(limit) if limit.isdigit() and int(limit) < _HUGE else NO_LIMIT


def cpu_quota(group: Path) -> float:
    """The CPU quota of a group in cores."""
    setting = text(group / "cpu.max") or " ".join(
        text(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")
    )
    quota, _, period = setting.partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else NO_LIMIT


def cpus_available(machine: Machine) -> float:
    """The number of cores the job can use: its quota or its allowed cores, if fewer.

    The allowed cores of a process respect its cpuset.
    """
    quota = min(map(cpu_quota, folders(machine, "cpu")), default=NO_LIMIT)
    online = _cores(text(machine.sys / "devices/system/cpu/online"))
    allowed = _cores(_field(_process(machine) / "status", "Cpus_allowed_list:"))
    usable = allowed & online or allowed or online
    return min(quota, len(usable) or NO_LIMIT)


def oom_kills(machine: Machine) -> dict[str, int]:
    """Counters of out-of-memory kills.

    "kernel": on the whole machine. "cgroup": in the job's control group. Counters that the kernel
    does not support are omitted.
    """
    counters = {"kernel": _field(machine.proc / "vmstat", "oom_kill ")}
    for group in folders(machine, "memory")[:1]:
        counters["cgroup"] = _field(group / "memory.events", "oom_kill ") or _field(
            group / "memory.oom_control", "oom_kill "
        )
    return {name: int(count) for name, count in counters.items() if count}


def text(file: Path) -> str:
    """The stripped content of a file; empty if it cannot be read."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _process(machine: Machine) -> Path:
    job = machine.proc / str(machine.job_pid)
    return job if job.exists() else machine.proc / "self"


def _mount(machine: Machine, controller: str) -> Path | None:
    """The mount of a version 1 controller, alone or with others (cpu,cpuacct)."""
    mounts = sorted((machine.sys / "fs/cgroup").glob(f"*{controller}*"))
    return next((mount for mount in mounts if controller in mount.name.split(",")), None)


def _upwards(root: Path, path: str) -> tuple[Path, ...]:
    """The group of a path and its parents.

    In a container, the path is often that of the host, while the mount is the group itself.
    """
    group = root / path.lstrip("/")
    if ".." in group.parts or not group.is_dir():
        group = root
    return (group, *(parent for parent in group.parents if parent.is_relative_to(root)))


def _field(file: Path, start: str) -> str:
    for line in text(file).splitlines():
        if line.startswith(start):
            return line.removeprefix(start).strip()
    return ""


def _cores(ranges: str) -> set[int]:
    """0-2,5 → {0, 1, 2, 5}."""
    cores: set[int] = set()
    for core_range in filter(None, ranges.split(",")):
        first, _, last = core_range.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return cores
