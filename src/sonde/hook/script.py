"""Functions for training scripts: log numbers, save tensors, mark steps, phases and modes.

In a process that Sonde does not record, they do nothing. They never raise: an invalid call emits a
warning once and is ignored.
"""

import math
import multiprocessing
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ContextDecorator
from dataclasses import replace
from functools import partial
from typing import Any

from sonde.errors import UsageError
from sonde.guard import Guard
from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.tensors.saved import SavedArrays
from sonde.hook.tensors.tensor_recorder import SavedTensor
from sonde.masking import mask_text
from sonde.records.profile import Window
from sonde.records.step import EventCategory, Mode, Phase
from sonde.records.tensor import Reduction
from sonde.settings import DEFAULT_WINDOWS, requested_windows

_PHASES = frozenset(Phase)
_MODES = frozenset(Mode)
_REDUCTIONS = frozenset(Reduction)
_DEFAULT_KINDS = ",".join(window.kind for window in DEFAULT_WINDOWS)
_warned: set[str] = set()


def log(
    values: Mapping[str, Any] | None = None,
    /,
    *,
    step: int | None = None,
    mode: str | None = None,
    **named: Any,
) -> None:
    """Record numbers of the current step: `sonde.log(loss=0.3, accuracy=0.9)`.

    Between an optimizer step and the first event of the next step, numbers belong to the step that
    has just ended. A number may be a tensor with one element; Sonde does not wait for its device.

    Args:
        values: Numbers by name, for names that are not Python identifiers.
        step: Number of the step, if not the current one.
        mode: Mode of the step, if not the current one: train, eval or predict.
        **named: Numbers by name.
    """
    session = _session(wakes=False)
    if session is None:
        return

    def record() -> None:
        at = _at(session, step, mode, "sonde.log")
        for name, value in {**_mapping(values), **named}.items():
            if not record_number(session, str(name), value, "log", at):
                kind = type(value).__name__
                _warn(f"sonde.log: ignored {name}, expected a number but got {kind}")

    session.guard.call("sonde.log", record, None)


def save(
    name: str,
    value: Any,
    *,
    step: int | None = None,
    mode: str | None = None,
    collections: Sequence[str] = (),
    reductions: Sequence[str] | None = None,
) -> None:
    """Record an array under a name: a tensor, a NumPy array, or a list of numbers.

    Each call records statistics, a histogram and the full value. If a configured collection, such
    as `all`, includes the name, that collection defines what is recorded and at which steps.

    Args:
        name: Name of the array, such as `embedding`.
        value: The array. It is copied, so it may change afterward.
        step: Number of the step, if not the current one. Save all arrays of a step before those
            of the next one.
        mode: Mode of the step, if not the current one: train, eval or predict.
        collections: Collections to list it in, such as `weights`.
        reductions: Record these, such as `l2_norm`, instead of the full value.
    """
    session = _session()
    if session is None:
        return

    def record() -> None:
        at = _at(session, step, mode, "sonde.save")
        if step is not None:
            session.frameworks.begin_numbered_step(at)
        masked, requested = mask_text(str(name)), _reductions(reductions)
        request = session.plan.request_when_saved(masked, at, requested)
        if request is not None:
            _save(session, SavedTensor(masked, tuple(collections), at, request), value)

    session.guard.call("sonde.save", record, None)


def flush() -> None:
    """Write everything recorded so far, so that `sonde.open_job` sees it.

    It waits for the store for up to ten seconds. Without it, records are written every two seconds,
    and full values after their step.
    """
    session = Session.of_process()
    session.guard.call("sonde.flush", session.flush, None)


def current_job() -> str | None:
    """The URI of the job that records this process; None if it is not recorded."""
    return Session.of_process().store.worker.job_uri


def step() -> None:
    """End a step, in loops whose steps Sonde cannot detect.

    From the first call on, only these calls end steps.
    """
    session = _session()
    if session is not None:
        session.hook("sonde.step", session.end_step, None)()


def phase(name: str) -> "PhaseBlock":
    """A phase of the step: `with sonde.phase("tokenize"): …`, or `@sonde.phase("tokenize")`.

    Names of built-in phases (data_wait, forward, backward, …) add to those phases.

    Args:
        name: Name of the phase.
    """
    return PhaseBlock(str(name))


def mode(name: str) -> "ModeBlock":
    """The mode of the passes in a block: `with sonde.mode("eval"): …`, or `@sonde.mode("eval")`.

    Args:
        name: train, eval or predict.
    """
    return ModeBlock(_parse_mode(name))


def profile(
    kinds: str | Sequence[str] = _DEFAULT_KINDS,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    **options: Any,
) -> "ProfileBlock":
    """Profile the next steps, `sonde.profile("operators", steps=3)`, or a block.

    With `steps` or `seconds`, the kinds run one after the other from the next step on. Without
    either, use it as a context manager, `with sonde.profile("python"): …`, or as a decorator. A
    block runs one kind, and is not profiled if another window is open.

    Args:
        kinds: One or more of operators, dataloader, python, distributed and memory.
        steps: Number of training steps to profile.
        seconds: Duration of the profile; it ends after the step that reaches it.
        **options: Options of the profilers, such as `shapes=True` or `profiler="stacks"`.
    """
    session = _session()
    names = kinds if isinstance(kinds, str) else ",".join(kinds)
    arguments = {name: str(value).lower() for name, value in options.items()}
    arguments |= {"kinds": names, "by": "script"}
    arguments |= {} if steps is None else {"steps": str(steps)}
    arguments |= {} if seconds is None else {"seconds": f"{seconds:.6f}"}
    try:
        windows = requested_windows(arguments, "sonde.profile:")
    except UsageError as error:
        _warn(f"{error} (nothing is profiled)")
        return ProfileBlock(None)
    if steps is None and seconds is None:
        return ProfileBlock(replace(windows[0], num_steps=0))
    if session is not None:
        request = session.guard.shield("sonde.profile", session.windows.request, None)
        request(*windows)
    return ProfileBlock(None)


def record_number(session: Session, name: str, value: Any, source: str, at: StepId) -> bool:
    """Record a number of any numeric type; return False if the value is not a number."""
    tensors = session.frameworks.tensors
    if tensors is not None and tensors.scalar(name, value, source, at):
        return True
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except (TypeError, ValueError, RuntimeError):
        return False
    session.recorder.scalar(name, number, source, at)
    return True


class PhaseBlock(ContextDecorator):
    """A phase that lasts as long as a block or a function call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._starts_ns: list[int] = []  # several if the function is recursive

    def __enter__(self) -> None:
        session = _session()
        self._starts_ns.append(session.clock.now_ns() if session else 0)

    def __exit__(self, *_: object) -> None:
        start_ns = self._starts_ns.pop()
        session = _session()
        if session is not None and start_ns:
            session.guard.call("sonde.phase", lambda: self._record(session, start_ns), None)

    def _record(self, session: Session, start_ns: int) -> None:
        name = self._name
        category = EventCategory.PHASE if name in _PHASES else EventCategory.USER
        if session.thread.is_current():
            session.steps.span(name, start_ns, category.value)
            return
        at_mode, number = session.steps.latest
        length_ns = session.clock.now_ns() - start_ns
        lane = f"thread {threading.current_thread().name}"
        row = (name, EventCategory.USER.value, lane, start_ns, length_ns, number, at_mode, "")
        session.recorder.event(row)


class ModeBlock(ContextDecorator):
    """A mode that holds in a block or a function call."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._previous: list[str | None] = []

    def __enter__(self) -> None:
        session = _session() if self._name else None
        self._previous.append(session.steps.force(self._name) if session else None)

    def __exit__(self, *_: object) -> None:
        previous = self._previous.pop()
        session = _session() if self._name else None
        if session is not None:
            session.steps.force(previous)


class ProfileBlock(ContextDecorator):
    """A profiling window that lasts as long as a block or a function call."""

    def __init__(self, window: Window | None) -> None:
        self._window = window  # None if it is limited by steps or seconds, or invalid
        self._began: list[bool] = []

    def __enter__(self) -> None:
        session, window = _session(), self._window
        if session is None or window is None or not session.thread.is_current():
            self._began.append(False)
            return
        begin = partial(session.windows.begin_now, window)
        self._began.append(session.guard.call("sonde.profile", begin, default=False))

    def __exit__(self, *_: object) -> None:
        session = _session() if self._began.pop() else None
        if session is not None:
            session.guard.call("sonde.profile", session.windows.end_now, None)


def _session(*, wakes: bool = True) -> Session | None:
    """The session, if this process is recorded; data loader workers are not.

    Args:
        wakes: Whether to reactivate resting hooks, instead of only recording the counted steps.
    """
    session = Session.of_process()
    state = session.state
    if state.is_on:
        if state.has_notes and session.thread.is_current():
            is_flushed = state.is_resting and not wakes
            session.guard.call("notes", state.flush_rest if is_flushed else state.catch_up, None)
        return session
    if session.store.worker.job_uri is None or multiprocessing.current_process().daemon:
        return None
    return session if session.activate() else None


def _at(session: Session, number: int | None, mode_name: str | None, function: str) -> StepId:
    at_mode, at_number = session.steps.latest
    requested = _parse_mode(mode_name) if mode_name is not None else None
    if requested not in (None, at_mode):
        at_mode, at_number = requested, max(0, session.steps.counts.get(requested, 0) - 1)
    if number is None:
        return at_mode, at_number
    try:
        return at_mode, int(number)
    except (TypeError, ValueError):
        _warn(f"{function}: ignored step={number!r}, expected a number; using the current step")
        return at_mode, at_number


def _save(session: Session, tensor: SavedTensor, value: Any) -> None:
    tensors = session.frameworks.tensors
    if tensors is None:
        tensors = SavedArrays(session)
        session.frameworks.set_tensor_recorder(tensors)
    if not tensors.save(tensor, value):
        kind = type(value).__name__
        _warn(f"sonde.save: ignored {tensor.name}, expected an array of numbers but got {kind}")


def _reductions(names: Sequence[str] | None) -> frozenset[Reduction] | None:
    """The requested reductions; None if the full value is requested."""
    if names is None:
        return None
    unknown = [name for name in names if name not in _REDUCTIONS]
    if unknown:
        choices = ", ".join(sorted(_REDUCTIONS))
        _warn(f"sonde.save: ignored reduction {unknown[0]!r}; choose from: {choices}")
    return frozenset(Reduction(name) for name in names if name in _REDUCTIONS)


def _mapping(values: Any) -> Mapping[str, Any]:
    if values is None or isinstance(values, Mapping):
        return values or {}
    kind = type(values).__name__
    _warn(f"sonde.log: ignored a {kind}; pass numbers by name, as in sonde.log(loss=0.3)")
    return {}


def _parse_mode(name: str) -> str | None:
    if name in _MODES:
        return Mode(name).value
    _warn(f"sonde: ignored mode {name!r}; choose one of: {', '.join(Mode)}")
    return None


def _warn(message: str) -> None:
    """Emit each warning once; never raises, even if warnings are errors."""
    if message not in _warned:
        _warned.add(message)
        Guard().attempt("a warning", lambda: warnings.warn(message, stacklevel=2), None)
