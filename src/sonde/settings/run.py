"""The only reader of environment variables and configuration files.

Every value is checked here, once; a wrong one is an error before the job starts that names the key,
the value and what is allowed.
"""

import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sonde.errors import UsageError

DEFAULT_STORE = "sonde-jobs"
CONFIG_NAME = "sonde.toml"

SHORTEST_INTERVAL_SECONDS = 0.1
LONGEST_INTERVAL_SECONDS = 60.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h)")
_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a job is watched."""

    name: str | None = None
    store: str = DEFAULT_STORE
    interval_seconds: float = 0.5
    overhead_percent: float = 1.0
    disk_bytes: int = 20_000_000_000
    name_in_file: tuple[str, str] | None = None  # a name and the file it is from; --name wins


@dataclass(frozen=True, slots=True)
class Placement:
    """Where this process runs among the machines and processes of one job."""

    node: str
    group: str | None = None  # what the cluster calls the whole job, where it says so
    nodes: int = 1
    local_rank: int = 0  # above 0: another launcher on this node watches the machine


def parse_duration(text: str, key: str) -> float:
    """Seconds from a text like 500ms, 1s, 5min."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{key} = {text!r} is not a duration. Write it like 500ms, 2s or 1min.")
    return float(match[1]) * _DURATION_UNITS[match[2]]


def parse_interval(text: str, key: str = "interval") -> float:
    """Seconds between two samples, within what the sampler can do."""
    seconds = parse_duration(text, key)
    if not SHORTEST_INTERVAL_SECONDS <= seconds <= LONGEST_INTERVAL_SECONDS:
        raise UsageError(f"{key} = {text!r} is out of range. Allowed: 100ms to 60s.")
    return seconds


def parse_size(text: str, key: str) -> int:
    """Bytes from a text like 20GB or 500MB."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{key} = {text!r} is not a size. Write it like 500MB or 20GB.")
    return int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " "))


def _name(value: str, key: str) -> str:
    return value  # checked with every other name, when the job is registered


def _percent(value: float, key: str) -> float:
    if not 0 < value <= 100:
        raise UsageError(f"{key} = {value} is out of range. Allowed: above 0, at most 100.")
    return float(value)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the configuration file: where it is, what it sets, and what it means."""

    section: str
    name: str
    field: str
    kinds: tuple[type, ...]
    read: Callable[[Any, str], Any]
    default: str  # as one writes it; empty: there is none
    help: str


KEYS = (
    Key(
        *("job", "name", "name", (str,), _name, ""),
        "the job's name; without it: script name and time",
    ),
    Key(
        *("system", "interval", "interval_seconds", (str,), parse_interval, "500ms"),
        "time between two samples of the machine, 100ms to 60s",
    ),
    Key(
        *("budget", "overhead_percent", "overhead_percent", (int, float), _percent, "1"),
        "what watching may cost, in percent of one core; above it the interval grows",
    ),
    Key(
        *("budget", "disk", "disk_bytes", (str,), parse_size, "20GB"),
        "the most a job may take; the oldest raw data goes first, roll-ups stay",
    ),
)

VARIABLES = {
    "SONDE_STORE": "the default store; without it, ./sonde-jobs",
    "SONDE_DISABLE": "set to 1: `sonde run` becomes the command, as if Sonde were not there",
}


def load_settings(config: Path | None, command: tuple[str, ...] = ()) -> RunSettings:
    """The settings from a file, or from `sonde.toml` beside the script or in the folder.

    The default store comes from SONDE_STORE; options of the command line go on top, by the caller.
    """
    found = config or _find_config(command)
    settings = RunSettings(store=default_store())
    return settings if found is None else _apply_file(settings, found)


def _find_config(command: tuple[str, ...]) -> Path | None:
    words = (word for word in command if not re.search(r"\s", word))
    scripts = [Path(word) for word in words if word.endswith((".py", ".sh"))]
    folders = [script.parent for script in scripts[:1]] + [Path()]
    candidates = (folder / CONFIG_NAME for folder in folders)
    return next((candidate for candidate in candidates if _is_there(candidate)), None)


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder we may not look into, a word that is no path at all
        return False


def _apply_file(settings: RunSettings, path: Path) -> RunSettings:
    import tomllib  # noqa: PLC0415 — 5 ms of a start that most often finds no file

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"Cannot read the configuration {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    changes: dict[str, Any] = {}
    for section, table in document.items():
        sections = sorted({known.section for known in KEYS})
        if not isinstance(table, dict):
            raise _outside(path, section, sections)
        if section not in sections:
            raise UsageError(f"{path}: unknown section [{section}]. Known: {', '.join(sections)}")
        for key, value in table.items():
            field, read_value = _read_key(path, section, key, value)
            changes[field] = read_value
    if "name" in changes:
        changes["name_in_file"] = (changes["name"], str(path))
    return replace(settings, **changes)


def _outside(path: Path, name: str, sections: list[str]) -> UsageError:
    owner = next((key.section for key in KEYS if key.name == name), None)
    listed = ", ".join(f"[{section}]" for section in sections)
    way_out = f"Put it under [{owner}]." if owner else f"Keys belong into one of {listed}."
    return UsageError(f"{path}: {name!r} is not in a section. {way_out}")


def _read_key(path: Path, section: str, name: str, value: object) -> tuple[str, Any]:
    known = {key.name: key for key in KEYS if key.section == section}
    if name not in known:
        listed = ", ".join(sorted(known))
        raise UsageError(f"{path}: unknown key [{section}] {name} = {value!r}. Known: {listed}")
    key = known[name]
    if not isinstance(value, key.kinds) or isinstance(value, bool):
        wanted = "a number" if int in key.kinds else "a text in quotes"
        raise UsageError(f"{path}: [{section}] {name} = {value!r} must be {wanted}.")
    return key.field, key.read(value, f"{path}: [{section}] {name}")


def default_store() -> str:
    """SONDE_STORE, else a folder here."""
    return os.environ.get("SONDE_STORE") or DEFAULT_STORE


def is_disabled() -> bool:
    """Whether SONDE_DISABLE asks that nothing be done at all."""
    return os.environ.get("SONDE_DISABLE", "") not in ("", "0")


def environment() -> dict[str, str]:
    """All variables that we were given, to be handed on or, masked, to be recorded."""
    variables = dict(os.environ)
    try:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return variables
    # Python sets this one by itself where there is no locale; the command must not inherit it
    if not any(one.startswith(b"LC_CTYPE=") for one in given):
        variables.pop("LC_CTYPE", None)
    return variables


def placement() -> Placement:
    """Where this process runs, from the variables of SLURM, torchrun, MPI and Kubernetes."""
    group = _first("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "PET_RDZV_ID", "OMPI_MCA_ess_base_jobid")
    if group == "none":  # torchrun's name for a run that was given none
        group = None
    rank = _first(
        *("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
        *(("LOCAL_RANK",) if "TORCHELASTIC_RUN_ID" in os.environ else ()),
    )
    local_rank = int(rank) if rank and rank.isdigit() else 0
    nodes = _first("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "PET_NNODES", "OMPI_COMM_WORLD_SIZE")
    host = re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()) or "node"
    is_number = nodes is not None and nodes.isdigit()
    return Placement(
        node=f"{host}.{local_rank}" if local_rank else host,
        group=group,
        nodes=int(nodes) if is_number and nodes else 1,
        local_rank=local_rank,
    )


def _first(*names: str) -> str | None:
    return next((os.environ[name] for name in names if os.environ.get(name)), None)
