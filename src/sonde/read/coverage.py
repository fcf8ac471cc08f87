"""What of a job was seen from inside, and if it was not, why and what to do about it."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, KeyMissingError
from sonde.masking import mask_text
from sonde.records.seen import Seen
from sonde.store import layout
from sonde.store.backends import Backend

_NAMES = {
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "sklearn": "scikit-learn",
}
_HOOKED = "torch"
_UNRECORDED = "unrecorded"
_LONGEST_REASON_BYTES = 4000
_HOOK_FAILED = "Sonde's hook could not be loaded into the process"
_OFTEN_BESIDE = "sklearn"  # imported for a metric or a split by jobs that train something else
_FIRST_STEP_SECONDS = 60.0  # so long a job that runs may take to come to its first step
_WAY_OUT = (
    "Call sonde.step() after each training step and sonde.log(loss=...) to record steps and losses."
)


@dataclass(frozen=True, slots=True)
class Markers:
    """What processes of an attempt left beside its documents as they started."""

    frameworks: Mapping[str, str]  # imported, with their versions
    hook_failures: tuple[str, ...]  # why the inside of a process was not recorded


def read_markers(backend: Backend, node: str, attempt: int) -> Markers:
    """Reads which frameworks were imported, and where the hook could not be loaded."""
    frameworks, failures = {}, []
    for entry in backend.entries(layout.frameworks_folder(node, attempt)):
        name, _, rest = entry.key.rpartition("/")[2].partition("-")
        if name in _NAMES:
            frameworks[name] = rest
        elif name == _UNRECORDED:
            failures.append(_hook_failure(backend, entry.key, rest))
    return Markers(frameworks, tuple(failures))


def _hook_failure(backend: Backend, key: str, checksum: str) -> str:
    try:
        content = backend.read(key, 0, _LONGEST_REASON_BYTES)
    except (KeyMissingError, DamagedError):
        content = b""
    if f"{zlib.crc32(content):08x}" != checksum:
        backend.ledger.report(key, f"{key} is damaged: its checksum does not match")
        return f"{_HOOK_FAILED} for a reason that cannot be read"
    backend.ledger.clear(key)
    reason = mask_text(" ".join(content.decode(errors="replace").split()))
    return f"{_HOOK_FAILED}: {reason.rstrip('.')}"


def seen_of(
    frameworks: Mapping[str, str],
    steps: Mapping[str, int],
    shut: Sequence[str] = (),
    running_ns: int | None = None,
    damaged: Sequence[str] = (),
    lost: Sequence[str] = (),
) -> Seen:
    """What was seen of a job.

    Args:
        frameworks: Those that were imported, and their versions.
        steps: How many steps of each mode were recorded.
        shut: Why nobody could look into the process at all.
        running_ns: How long it has been running; None once it is over.
        damaged: Files of its workers that are damaged or missing, by name.
        lost: Why training steps could not be recorded.
    """
    names = _named(frameworks, is_inside=bool(steps.get("train")))
    label = ", ".join(f"{name} {_short(frameworks[name])}".strip() for name in names) or None
    if steps.get("train"):
        return Seen(label, inside=True)
    if shut:
        return Seen(label, inside=False, why_not=f"{shut[0]}.")
    missing = _missing(damaged, lost)
    if missing:
        return Seen(label, False, f"{missing}. `sonde status` lists them under `lost`.")
    unhooked = [name for name in names if name != _HOOKED]
    if unhooked:
        said = " and ".join(
            f"{_NAMES[name]} {_short(frameworks[name])}".strip() for name in unhooked
        )
        return Seen(label, False, f"This job uses {said}, which Sonde cannot look into. {_WAY_OUT}")
    is_young = running_ns is not None and running_ns < _FIRST_STEP_SECONDS * NANOSECONDS
    if not names or is_young:
        return Seen(label)
    said = f"PyTorch {_short(frameworks[_HOOKED])}".strip()
    why = f"This job uses {said}, but no optimizer step and no backward pass was seen."
    return Seen(label, False, f"{why} If it trains: {_WAY_OUT[0].lower()}{_WAY_OUT[1:]}")


def _missing(damaged: Sequence[str], lost: Sequence[str]) -> str:
    """Why steps that ran are not recorded; empty where nothing says that any ran."""
    if damaged:
        files = "1 file" if len(damaged) == 1 else f"{len(damaged)} files"
        why = f"{files} cannot be read, such as {damaged[0]}"
        return f"The recording of its steps is damaged: {why}"
    return f"Training steps could not be recorded: {lost[0]}" if lost else ""


def _named(frameworks: Iterable[str], *, is_inside: bool) -> list[str]:
    known = [name for name in _NAMES if name in set(frameworks)]
    if is_inside and _HOOKED in known:
        return [_HOOKED]
    return [name for name in known if name != _OFTEN_BESIDE] or known


def _short(version: str) -> str:
    """A version without its last digits, as people say it: 2.13."""
    return ".".join(version.split(".")[:2])
