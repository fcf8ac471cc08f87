"""Where a job's control groups are, and the limits they set.

Versions 1 and 2 and both at once (hybrid) are told apart by the files that are there.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from sonde.agent.system._collector import Machine

NO_LIMIT = float("inf")
_HUGE = 1 << 60  # version 1 says "no limit" with a number near the largest


def folders(machine: Machine, controller: str) -> tuple[Path, ...]:
    """The job's control group for a controller and the groups it lies in, innermost first."""
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
    """The group whose limit is reached first; None where none has a limit."""
    limited = [group for group in groups if limit(group) < NO_LIMIT]
    return min(limited, key=limit, default=None)


def memory_limit(group: Path) -> float:
    """Bytes the group may use."""
    found = text(group / "memory.max") or text(group / "memory.limit_in_bytes")
    return float(found) if found.isdigit() and int(found) < _HUGE else NO_LIMIT


def cpu_quota(group: Path) -> float:
    """Processor time the group may use, in cores."""
    found = text(group / "cpu.max") or " ".join(
        text(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")
    )
    quota, _, period = found.partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else NO_LIMIT


def cpus_available(machine: Machine) -> float:
    """How many cores the job can really use: its quota or the cores it may run on, if fewer.

    The cores a process may run on are those of its cpuset already.
    """
    quota = min(map(cpu_quota, folders(machine, "cpu")), default=NO_LIMIT)
    online = _cores(text(machine.sys / "devices/system/cpu/online"))
    allowed = _cores(_field(_process(machine) / "status", "Cpus_allowed_list:"))
    usable = allowed & online or allowed or online
    return min(quota, len(usable) or NO_LIMIT)


def oom_kills(machine: Machine) -> dict[str, int]:
    """How often memory ran out and a process was killed: counters that only grow.

    "kernel": anywhere on the machine, for want of memory or of a group's share of it.
    "cgroup": in the job's group. A counter that this kernel does not have is left out.
    """
    found = {"kernel": _field(machine.proc / "vmstat", "oom_kill ")}
    for group in folders(machine, "memory")[:1]:
        found["cgroup"] = _field(group / "memory.events", "oom_kill ") or _field(
            group / "memory.oom_control", "oom_kill "
        )
    return {name: int(count) for name, count in found.items() if count}


def text(file: Path) -> str:
    """The file's content without white space around it, empty if it cannot be read."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _process(machine: Machine) -> Path:
    job = machine.proc / str(machine.job_pid)
    return job if job.exists() else machine.proc / "self"


def _mount(machine: Machine, controller: str) -> Path | None:
    """Where a version 1 controller is mounted, alone or together with others (cpu,cpuacct)."""
    mounts = sorted((machine.sys / "fs/cgroup").glob(f"*{controller}*"))
    return next((mount for mount in mounts if controller in mount.name.split(",")), None)


def _upwards(root: Path, path: str) -> tuple[Path, ...]:
    """The group of a path and those it lies in.

    In a container the path is often the host's, while what is mounted is the group itself.
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
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return cores
