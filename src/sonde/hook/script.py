"""What a script may say itself: numbers, tensors, where a step ends, what it is doing.

All of it does nothing where nobody watches, and nothing of it ever ends a training: a call that
cannot be understood is warned of, once, and left out.
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
from sonde.hook.steps import At
from sonde.hook.tensors.saved import SavedArrays
from sonde.masking import mask_text
from sonde.records.profile import Window
from sonde.records.step import EventCategory, Mode, Phase
from sonde.settings import DEFAULT_WINDOWS, requested_windows

_PHASES = frozenset(Phase)
_MODES = frozenset(Mode)
_USUAL_KINDS = ",".join(window.kind for window in DEFAULT_WINDOWS)
_warned: set[str] = set()


def log(
    values: Mapping[str, Any] | None = None,
    /,
    *,
    step: int | None = None,
    mode: str | None = None,
    **named: Any,
) -> None:
    """Records numbers of the step under way: `sonde.log(loss=0.3, accuracy=0.9)`.

    After an optimizer's step, until anything of the next one is seen, they are numbers of the step
    that has just ended. A number may be a tensor with one element; nobody waits for its device.

    Args:
        values: Numbers by name, also where names are no words of Python.
        step: The number of another step.
        mode: Another mode than the present one: train, eval or predict.
        **named: Numbers by name.
    """
    session = _session(wakes=False)
    if session is None:
        return

    def record() -> None:
        at = _at(session, step, mode)
        for name, value in {**_mapping(values), **named}.items():
            if not record_number(session, str(name), value, "log", at):
                kind = type(value).__name__
                _warn(f"sonde.log: {name} is not a number but a {kind}; it is left out")

    session.guard.call("sonde.log", record, None)


def save(name: str, value: Any) -> None:
    """Records an array under a name: a tensor, a numpy array, a list of numbers.

    Its statistics, a histogram and the full value, every time; unless a collection that was asked
    for holds the name, as `all` does: then what that one says, when it says.

    Args:
        name: What it is found by later, like `embedding`.
        value: The array; it may change afterwards.
    """
    session = _session()
    if session is None:
        return

    def record() -> None:
        tensors = session.frameworks.tensors
        if tensors is None:
            tensors = SavedArrays(session)
            session.frameworks.take_tensors_with(tensors)
        if not tensors.save(mask_text(str(name)), value, session.steps.latest):
            kind = type(value).__name__
            _warn(f"sonde.save: {name} is not an array of numbers but a {kind}; it is left out")

    session.guard.call("sonde.save", record, None)


def step() -> None:
    """Ends a step, in loops whose steps cannot be seen; from the first call on, every step."""
    session = _session()
    if session is not None:
        session.hook("sonde.step", session.end_step, None)()


def phase(name: str) -> "Stretch":
    """A phase of the step: `with sonde.phase("tokenize"): …`, or `@sonde.phase("tokenize")`.

    The names of the phases that are recorded anyway (data_wait, forward, backward, …) mean those.

    Args:
        name: What it is called.
    """
    return Stretch(str(name))


def mode(name: str) -> "Meant":
    """What the passes inside are for: `with sonde.mode("eval"): …`, also before a function.

    Args:
        name: train, eval or predict.
    """
    return Meant(_known_mode(name))


def profile(
    kinds: str | Sequence[str] = _USUAL_KINDS,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    **options: Any,
) -> "Profiling":
    """Looks deeper for some steps, `sonde.profile("operators", steps=3)`, or in a block.

    By steps or seconds, kinds follow each other from the next step on. Without either, the window
    lasts as long as a block, `with sonde.profile("python"): …`, or as a function that this is put
    before; there it is one kind, and only where no other window is open.

    Args:
        kinds: operators, dataloader, python, distributed or memory; one of them, or several.
        steps: How many training steps; without it and without `seconds`, a block is meant.
        seconds: For how long, up to the end of a step.
        **options: Of the profilers that have them, like `shapes=True` or `profiler="stacks"`.
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
        _warn(f"{error} Nothing is profiled.")
        return Profiling(None)
    if steps is None and seconds is None:
        return Profiling(replace(windows[0], num_steps=0))
    if session is not None:
        ask = session.guard.shield("sonde.profile", session.windows.ask, None)
        ask(*windows)
    return Profiling(None)


def record_number(session: Session, name: str, value: Any, source: str, at: At) -> bool:
    """Records one number, whatever holds it; whether it was one."""
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


class Stretch(ContextDecorator):
    """A phase that lasts as long as a block, or as a function."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._starts_ns: list[int] = []  # several where the function calls itself

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


class Meant(ContextDecorator):
    """A mode that holds in a block, or in a function."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        session = _session() if self._name else None
        self._before.append(session.steps.force(self._name) if session else None)

    def __exit__(self, *_: object) -> None:
        before = self._before.pop()
        session = _session() if self._name else None
        if session is not None:
            session.steps.force(before)


class Profiling(ContextDecorator):
    """A window that lasts as long as a block, or as a function."""

    def __init__(self, window: Window | None) -> None:
        self._window = window  # None: it was asked for by steps, or cannot be
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
    """The session, if this process is watched; one that only serves data does not begin one.

    Args:
        wakes: Whether hooks that rest return first; else only what they have kept is recorded.
    """
    session = Session.of_process()
    state = session.state
    if state.is_on:
        if state.has_notes and session.thread.is_current():
            is_flushed = state.is_resting and not wakes
            session.guard.call("notes", state.flush_rest if is_flushed else state.catch_up, None)
        return session
    if session.store.place.job_uri is None or multiprocessing.current_process().daemon:
        return None
    return session if session.activate() else None


def _at(session: Session, number: int | None, mode_name: str | None) -> At:
    now_mode, now_number = session.steps.latest
    said = _known_mode(mode_name) if mode_name is not None else None
    if said not in (None, now_mode):
        now_mode, now_number = said, max(0, session.steps.counts.get(said, 0) - 1)
    if number is None:
        return now_mode, now_number
    try:
        return now_mode, int(number)
    except (TypeError, ValueError):
        _warn(f"sonde.log: step={number!r} is not a number; the present step is taken")
        return now_mode, now_number


def _mapping(values: Any) -> Mapping[str, Any]:
    if values is None or isinstance(values, Mapping):
        return values or {}
    kind = type(values).__name__
    _warn(f"sonde.log: numbers have names, as in sonde.log(loss=0.3); a {kind} is left out")
    return {}


def _known_mode(name: str) -> str | None:
    if name in _MODES:
        return Mode(name).value
    _warn(f"sonde: there is no mode {name!r}, but {', '.join(Mode)}; it is ignored")
    return None


def _warn(message: str) -> None:
    """Once for each message; it never raises, also where warnings are errors."""
    if message not in _warned:
        _warned.add(message)
        Guard().attempt("a warning", lambda: warnings.warn(message, stacklevel=2), None)
