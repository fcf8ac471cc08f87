"""Check what Sonde can measure on this machine, for `sonde doctor`."""

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


def run_self_check(store: str, machine: Machine, clock: Clock) -> dict[str, Any]:
    """Return the document of `sonde doctor --json`."""
    collectors, missing = open_collectors(machine)
    costs = {name: _cost(name, collector, clock) for name, collector in collectors.items()}
    documents = [
        {
            "collector": name,
            "works": costs[name] is not None,
            "series": len(collector.series),
            "milliseconds": costs[name],
            "interval_seconds": max(collector.interval_seconds, RunSettings().interval_seconds),
            "reason": None if costs[name] is not None else "the first read failed",
        }
        for name, collector in collectors.items()
    ]
    documents += [
        {"collector": name, "works": False, "series": 0, "reason": absence.reason}
        for name, absence in missing.items()
    ]
    for collector in collectors.values():
        collector.close()
    return {
        "sonde": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "store": _store(store),
        "collectors": sorted(documents, key=lambda collector: str(collector["collector"])),
        "tick": _tick([collector for collector in documents if collector["works"]]),
        "limits": _limits(machine),
        "nvidia": _nvidia(machine),
        "git": shutil.which("git"),
        "extras": {package: _version(package) for package in EXTRAS},
        "variables": _variables(),
    }


def _cost(name: str, collector: Collector, clock: Clock) -> float | None:
    """Return the CPU time of one read in milliseconds; None if it fails."""
    guard = Guard()

    def read() -> float:
        collector.read(clock.seconds())  # the first read opens files
        started = thread_cpu_seconds()
        for _ in range(_READS):
            collector.read(clock.seconds())
        return 1000 * (thread_cpu_seconds() - started) / _READS

    return guard.call(name, read, None)


def _tick(working: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the cost of sampling: per tick with all collectors, and as a share of a core."""
    interval = RunSettings().interval_seconds
    share = sum(collector["milliseconds"] / collector["interval_seconds"] for collector in working)
    return {
        "milliseconds": sum(collector["milliseconds"] for collector in working),
        "interval_milliseconds": 1000 * interval,
        "percent_of_a_core": share / 10,
    }


def _store(store: str) -> dict[str, Any]:
    """Check whether the store is writable, without leaving files."""
    result: dict[str, Any] = {"uri": store, "writable": True, "reason": None, "free_bytes": None}
    try:
        backend = open_backend(_existing(store))
        _probe(backend)
        result["free_bytes"] = backend.free_bytes()
    except (MissingExtraError, StoreError) as error:
        result |= {"writable": False, "reason": str(error)}
    return result


def _existing(store: str) -> str:
    """Return the folder or its nearest existing parent: the first job creates the store."""
    if "://" in store:
        return store
    path = Path(store)
    while not path.exists() and path != path.parent:
        path = path.parent
    return str(path)


def _probe(backend: Backend) -> None:
    key = f".sonde-doctor-{os.getpid()}"
    content = os.urandom(16)
    backend.write(key, content)
    content_read = backend.read(key)
    backend.delete([key])
    if content_read != content:
        raise StoreError(f"{backend.uri} returned data that differs from what was written")


def _limits(machine: Machine) -> dict[str, float | None]:
    memory = min(map(cgroups.memory_limit, cgroups.folders(machine, "memory")), default=None)
    quota = min(map(cgroups.cpu_quota, cgroups.folders(machine, "cpu")), default=None)
    limits = {
        "cores_available": cgroups.cpus_available(machine),
        "cpu_quota_cores": quota,
        "memory_limit_bytes": memory,
    }
    return {name: None if limit == cgroups.NO_LIMIT else limit for name, limit in limits.items()}


def _nvidia(machine: Machine) -> dict[str, str | None]:
    try:
        text = (machine.proc / "driver/nvidia/version").read_text(errors="replace")
    except OSError:
        text = ""
    match = re.search(r"Module.*?\s(\d+(?:\.\d+)+)\s", text)
    return {"driver": match[1] if match else None, "nvidia-ml-py": _version("nvidia-ml-py")}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _variables() -> dict[str, str]:
    masked = mask_environment(environment())
    return {name: value for name, value in masked.items() if name.startswith("SONDE_")}
