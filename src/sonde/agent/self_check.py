"""What works on this machine, and why not: the facts behind `sonde doctor`."""

import os
import platform
import re
import shutil
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sonde import __version__
from sonde.agent.sampler import open_collectors
from sonde.agent.system import Collector, Machine
from sonde.agent.system import _cgroups as cgroups
from sonde.clock import Clock, thread_cpu_seconds
from sonde.errors import MissingExtraError, StoreError
from sonde.guard import Guard
from sonde.masking import mask_environment
from sonde.settings import RunSettings, environment
from sonde.store.backends import Backend, open_backend

EXTRAS = {"obstore": "s3", "pandas": "frames", "polars": "frames"}
_READS = 5


def checkup(store: str, machine: Machine, clock: Clock) -> dict[str, Any]:
    """Everything that `sonde doctor --json` prints."""
    collectors, missing = open_collectors(machine)
    costs = {name: _cost(name, one, clock) for name, one in collectors.items()}
    found = [
        {
            "collector": name,
            "works": costs[name] is not None,
            "series": len(one.series),
            "milliseconds": costs[name],
            "interval_seconds": max(one.interval_seconds, RunSettings().interval_seconds),
            "reason": None if costs[name] is not None else "its first reading failed",
        }
        for name, one in collectors.items()
    ]
    found += [
        {"collector": name, "works": False, "series": 0, "reason": absence.reason}
        for name, absence in missing.items()
    ]
    for one in collectors.values():
        one.close()
    return {
        "sonde": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "store": _store(store),
        "collectors": sorted(found, key=lambda one: str(one["collector"])),
        "tick": _tick([one for one in found if one["works"]]),
        "limits": _limits(machine),
        "nvidia": _nvidia(machine),
        "git": shutil.which("git"),
        "extras": {package: _version(package) for package in EXTRAS},
        "variables": _variables(),
    }


def _cost(name: str, collector: Collector, clock: Clock) -> float | None:
    """Milliseconds of processor time that one reading takes; None if it fails."""
    guard = Guard()

    def read() -> float:
        collector.read(clock.seconds())  # the first one opens what the later ones keep open
        started = thread_cpu_seconds()
        for _ in range(_READS):
            collector.read(clock.seconds())
        return 1000 * (thread_cpu_seconds() - started) / _READS

    return guard.call(name, read, None)


def _tick(working: Sequence[dict[str, Any]]) -> dict[str, float]:
    """What sampling costs: one tick with everything in it, and per time, as seldom ones count."""
    interval = RunSettings().interval_seconds
    share = sum(one["milliseconds"] / one["interval_seconds"] for one in working)
    return {
        "milliseconds": sum(one["milliseconds"] for one in working),
        "interval_milliseconds": 1000 * interval,
        "percent_of_a_core": share / 10,
    }


def _store(store: str) -> dict[str, Any]:
    """Whether a job could be written there; nothing is left behind."""
    result: dict[str, Any] = {"uri": store, "writable": True, "reason": None, "free_bytes": None}
    try:
        backend = open_backend(_existing(store))
        _probe(backend)
        result["free_bytes"] = backend.free_bytes()
    except (MissingExtraError, StoreError) as error:
        result |= {"writable": False, "reason": str(error)}
    return result


def _existing(store: str) -> str:
    """The folder itself or the nearest around it: a store is made only when a job is."""
    if "://" in store:
        return store
    place = Path(store)
    while not place.exists() and place != place.parent:
        place = place.parent
    return str(place)


def _probe(backend: Backend) -> None:
    key = f".sonde-doctor-{os.getpid()}"
    content = os.urandom(16)
    backend.write(key, content)
    came_back = backend.read(key)
    backend.delete([key])
    if came_back != content:
        raise StoreError(f"{backend.uri} did not give back what was written")


def _limits(machine: Machine) -> dict[str, float | None]:
    memory = min(map(cgroups.memory_limit, cgroups.folders(machine, "memory")), default=None)
    quota = min(map(cgroups.cpu_quota, cgroups.folders(machine, "cpu")), default=None)
    limits = {
        "cores_available": cgroups.cpus_available(machine),
        "cpu_quota_cores": quota,
        "memory_limit_bytes": memory,
    }
    return {name: None if one == cgroups.NO_LIMIT else one for name, one in limits.items()}


def _nvidia(machine: Machine) -> dict[str, str | None]:
    try:
        text = (machine.proc / "driver/nvidia/version").read_text(errors="replace")
    except OSError:
        text = ""
    found = re.search(r"Module.*?\s(\d+(?:\.\d+)+)\s", text)
    return {"driver": found[1] if found else None, "nvidia-ml-py": _version("nvidia-ml-py")}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _variables() -> dict[str, str]:
    masked = mask_environment(environment())
    return {name: value for name, value in masked.items() if name.startswith("SONDE_")}
