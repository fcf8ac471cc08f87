"""Whether the inside of a job was recorded, and if not, why and what to do."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, KeyMissingError
from sonde.formats import pluralize
from sonde.masking import mask_text
from sonde.records.notice import HOOK_FAILED
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
    "keras": "Keras",
    "sklearn": "scikit-learn",
}
_HOOKED = (
    "torch",
    "xgboost",
    "lightgbm",
    "keras",
)  # with an adapter; the first one that is imported is named
_STEPS = {
    "torch": "no optimizer step and no backward pass",
    "xgboost": "no boosting round in a process that Sonde records",
    "lightgbm": "no boosting round in a process that Sonde records",
    "keras": "no batch of `fit`, and no update of a Keras optimizer in a loop that Sonde detects",
}
_UNDER_KERAS = ("tensorflow", "jax")  # which imports them
_UNRECORDED = "unrecorded"
_MAX_REASON_BYTES = 4000
_OFTEN_AUXILIARY = "sklearn"  # often imported only for a metric or a split
_FIRST_STEP_SECONDS = 60.0  # allowed until the first step
_MANUAL_STEPS_HINT = (
    "Call sonde.step() after each training step and sonde.log(loss=...) to record steps and losses."
)


@dataclass(frozen=True, slots=True)
class Markers:
    """Files that the processes of an attempt write when they start."""

    frameworks: Mapping[str, str]  # imported frameworks with their versions
    hook_failures: tuple[str, ...]  # why a process has no hook


def read_markers(backend: Backend, node: str, attempt: int) -> Markers:
    """Read which frameworks were imported and where the hook failed to load."""
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
        content = backend.read(key, 0, _MAX_REASON_BYTES)
    except (KeyMissingError, DamagedError):
        content = b""
    if f"{zlib.crc32(content):08x}" != checksum:
        backend.ledger.report(key, f"{key} is damaged: its checksum does not match")
        return f"{HOOK_FAILED} (the reason is unreadable)"
    backend.ledger.clear(key)
    reason = mask_text(" ".join(content.decode(errors="replace").split()))
    return f"{HOOK_FAILED}: {reason.rstrip('.')}"


def coverage_from(
    frameworks: Mapping[str, str],
    steps: Mapping[str, int],
    hook_failures: Sequence[str] = (),
    running_ns: int | None = None,
    missing: str = "",
    has_failed: bool = False,
) -> Seen:
    """Determine what was recorded inside a job.

    Args:
        frameworks: The imported frameworks and their versions.
        steps: The number of recorded steps by mode.
        hook_failures: Why the hook is not in the process.
        running_ns: How long the job has been running; None if it is over.
        missing: Why recorded steps cannot be read, from `why_missing`.
        has_failed: Whether the job failed.
    """
    names = _relevant_names(frameworks, is_inside=bool(steps.get("train")))
    label = (
        ", ".join(f"{name} {_short_version(frameworks[name])}".strip() for name in names) or None
    )
    if steps.get("train"):
        return Seen(label, inside=True)
    if hook_failures:
        return Seen(label, inside=False, why_not=f"{hook_failures[0]}.")
    if missing:
        return Seen(label, False, f"{missing}. `sonde status` lists them under `lost`.")
    is_recent = running_ns is not None and running_ns < _FIRST_STEP_SECONDS * NANOSECONDS
    is_hooked = all(name in _HOOKED for name in names)
    if is_hooked and (not names or is_recent):
        return Seen(label)
    if is_hooked and has_failed:
        return Seen(label, False, "The job failed before its first training step.")
    return Seen(label, False, _no_steps_reason(names, frameworks))


def _no_steps_reason(names: Sequence[str], frameworks: Mapping[str, str]) -> str:
    """Why no training step was recorded, and how to record steps."""
    unhooked = [name for name in names if name not in _HOOKED]
    if unhooked:
        labels = (f"{_NAMES[name]} {_short_version(frameworks[name])}".strip() for name in unhooked)
        return (
            f"This job uses {' and '.join(labels)}, which Sonde cannot instrument. "
            f"{_MANUAL_STEPS_HINT}"
        )
    labels = (f"{_NAMES[name]} {_short_version(frameworks[name])}".strip() for name in names)
    missing = " and ".join(_STEPS[name] for name in names)
    explanation = f"This job uses {' and '.join(labels)}, but ran {missing}."
    hint = f"{_MANUAL_STEPS_HINT[0].lower()}{_MANUAL_STEPS_HINT[1:]}"
    return f"{explanation} If it trains a model, {hint}"


def why_missing(damaged: Sequence[str], lost: Sequence[str]) -> str:
    """Why steps are missing; empty if there is no sign of any.

    Args:
        damaged: Damaged or missing files of its workers.
        lost: Why training steps could not be recorded.
    """
    if damaged:
        files = pluralize(len(damaged), "file")
        return f"The recorded steps are damaged: cannot read {files}, such as {damaged[0]}"
    return f"Could not record training steps: {lost[0]}" if lost else ""


def _relevant_names(frameworks: Iterable[str], *, is_inside: bool) -> list[str]:
    ignored = _UNDER_KERAS if "keras" in frameworks else ()
    imported = [name for name in _NAMES if name in set(frameworks) and name not in ignored]
    hooked = [name for name in _HOOKED if name in imported]
    if is_inside and hooked:
        return hooked[:1]
    return [name for name in imported if name != _OFTEN_AUXILIARY] or imported


def _short_version(version: str) -> str:
    """The major and minor version: 2.13."""
    return ".".join(version.split(".")[:2])
