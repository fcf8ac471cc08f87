"""Profiling windows: run a profiler for a few steps or seconds.

Only one window is open at a time, so that profilers do not measure each other. Windows begin and
end between two steps, in the training thread. The time that takes is recorded with the window and
counts neither as step time nor as hook overhead.
"""

import json
import sys
import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sonde.clock import NANOSECONDS, ticks_ns
from sonde.formats import format_duration
from sonde.hook.profilers import PROFILERS, Profiler
from sonde.hook.steps import FinishedStep
from sonde.records.notice import NoticeKind
from sonde.records.profile import ProfileKind, RunningWindow, Window
from sonde.records.step import EventCategory, Mode
from sonde.settings import DEFAULT_WINDOWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sonde.hook.session import Session

LANE = "profile"
_COMPONENT = "profiling windows"
_TORCH = "torch"  # what all profilers measure, except for that of Python
_PLAN = "plan"  # the default origin of a window
_TRAIN = Mode.TRAIN.value
_NEVER = sys.maxsize
_PREPARE_STEPS = 200  # prepare the profiler this many steps before its window
_PREPARE_SECONDS = 60.0
_READY_SECONDS = 5.0  # how long a step waits for a profiler that is not ready
_MAX_EXTENSION_FACTOR = 10  # limit for extending a default window with short steps
_EVALUATION_NS = 10 * NANOSECONDS  # a longer evaluation ends a window of steps
_FAILED: str | None = "profiler failed"


@dataclass(slots=True)
class RequestedWindow:
    """A requested window and its outcome."""

    window: Window
    is_default: bool = False  # one of the windows that every job has
    is_prepared: threading.Event | None = None  # None until preparation starts
    began: int | None = None  # its first step
    refusal: str | None = None  # why it was not opened


@dataclass(slots=True)
class _OpenWindow:
    """The window that is open."""

    requested: RequestedWindow
    window: Window  # with the step at which it began
    start_ns: int
    cost_ns: int
    end_ns: int  # if limited by time, else never
    steps: int = 0  # finished in the window
    latest_ns: int = 0  # end of the last step


class Windows:
    """Opens and closes the planned and requested windows of a training process."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._changing = threading.Lock()  # any thread may change the list of waiting windows
        self._on_request: list[Callable[[], None]] = []
        session.listeners.on_step(_COMPONENT, self._after_step)
        session.listeners.on_begin(self._training_begins)
        session.listeners.on_end(self.close)
        self._begin_if_due = session.guard.shield(_COMPONENT, self._begin_due, None)

    def reset(self) -> None:
        """Drop all windows and profilers."""
        self._open: _OpenWindow | None = None
        self._waiting: list[RequestedWindow] = []
        self._profilers: dict[str, Profiler | None] = {}
        self._wake_step, self._wake_ns = _NEVER, _NEVER
        self._begin_ns = 0
        self._has_stepped = False
        self._ended_step = -2  # no window has ended yet
        self._is_settled = True

    @property
    def is_open(self) -> bool:
        """Whether a profiler is running."""
        return self._open is not None

    @property
    def running(self) -> RunningWindow | None:
        """The open window, for the heartbeat."""
        current = self._open
        if current is None:
            return None
        window, first = current.window, current.window.start_step or 0
        is_by_steps = window.duration_seconds is None and window.num_steps
        last = first + window.num_steps - 1 if is_by_steps else None
        return RunningWindow(window.kind, first, last, current.start_ns, window.by)

    def steps_until(self, number: int) -> int:
        """Number of steps from this one on during which no window begins or ends."""
        return 0 if self._open is not None else max(0, self._wake_step - 1 - number)

    def request(self, *windows: Window) -> tuple[RequestedWindow, ...]:
        """Queue windows, each to be opened when it is due; callable from any thread."""
        requested = tuple(RequestedWindow(window, window in DEFAULT_WINDOWS) for window in windows)
        with self._changing:
            self._waiting += requested
            self._set_alarm()
        self.notify_request()
        self._prepare_upcoming()
        return requested

    def on_request(self, *listeners: "Callable[[], None]") -> None:
        """Call these whenever windows are requested, in the thread that requests them."""
        self._on_request += listeners

    def notify_request(self) -> None:
        """Make hooks record the next steps as they happen, instead of deferring them."""
        for listener in self._on_request:
            listener()

    def apply_plan(self, before: tuple[Window, ...]) -> None:
        """Replace the windows of the plan that lie ahead after the settings have changed."""
        session = self._session
        plan, number = session.settings.profile, session.steps.counts[_TRAIN]
        if not session.state.is_on or plan == before:
            return
        with self._changing:
            self._waiting = [
                requested for requested in self._waiting if requested.window.by != _PLAN
            ]
            self._set_alarm()
        ahead = (
            window for window in plan if window.start_step is None or window.start_step > number
        )
        self.request(*ahead)

    def between_steps(self, step: FinishedStep) -> None:
        """Open the window that is due; called after all listeners of a finished step."""
        if step.number + 1 < self._wake_step and step.end_ns < self._wake_ns:
            return
        if step.mode == _TRAIN:
            self._begin_if_due(step.number + 1)

    def begin_now(self, window: Window) -> bool:
        """Open a window immediately, on request of the script; return whether it opened."""
        requested, number = RequestedWindow(window), self._session.steps.counts[_TRAIN]
        return self._open is None and self._begin(requested, number)

    def end_now(self) -> None:
        """Close the open window immediately."""
        if self._open is not None:
            self._end(self._open, "")

    def close(self) -> None:
        """Close the open window at the end of training."""
        self._wake_step, self._wake_ns = _NEVER, _NEVER
        if self._open is None:
            return
        if self._session.thread.is_current():
            self._end(self._open, "training ended")
        else:  # a profiler cannot be stopped from another thread
            self._record(self._open, "recording was stopped by another thread")

    def _training_begins(self) -> None:
        session = self._session
        self._begin_ns = session.clock.now_ns()
        if session.settings.profile:
            self.request(*session.settings.profile)
            self._shift_plan(session.steps.counts[_TRAIN])
            if self._wake_step <= session.steps.counts[_TRAIN]:
                self._begin_if_due(session.steps.counts[_TRAIN])

    def _after_step(self, step: FinishedStep) -> None:
        """End the open window after its last step."""
        if step.mode == _TRAIN and not self._has_stepped:
            self._has_stepped = True
            self._shift_plan(step.number)
        current = self._open
        if current is None:
            return
        if step.mode == _TRAIN:
            current.steps, current.latest_ns = current.steps + 1, step.end_ns
        count = current.window.num_steps if current.window.duration_seconds is None else 0
        is_done = count and current.steps >= count and not self._extends(current, step.number + 1)
        cut_reason = ""
        if step.mode != _TRAIN and step.end_ns - current.latest_ns >= _EVALUATION_NS:
            cut_reason = "an evaluation took too long"
        if is_done or cut_reason or step.end_ns >= current.end_ns:
            began_ns = ticks_ns()
            self._end(current, cut_reason)
            self._session.overhead.refund(ticks_ns() - began_ns)

    def _extends(self, current: _OpenWindow, number: int) -> bool:
        """Whether to extend a default window: its steps are short, and no other window is due."""
        max_steps = _MAX_EXTENSION_FACTOR * current.window.num_steps
        # one step must lie between this window and the next
        is_default = current.requested.is_default
        if not is_default or current.steps >= max_steps or self._wake_step <= number + 1:
            return False
        profiler = self._profilers[current.window.kind]
        assert profiler is not None
        component = _component(current.window.kind)
        return not self._session.guard.call(component, profiler.has_enough, True)

    def _shift_plan(self, first: int) -> None:
        """Count the steps of the plan from the first step, since training may have resumed."""
        if not first:
            return
        with self._changing:
            for requested in list(self._waiting):
                window = requested.window
                if window in DEFAULT_WINDOWS:
                    requested.window = replace(window, start_step=first + (window.start_step or 0))
                elif window.start_step is not None and window.start_step < first:
                    self._waiting.remove(requested)
                    reason = f"training resumed at step {first}, after step {window.start_step}"
                    self._refuse(requested, reason)
            self._set_alarm()

    def _begin_due(self, number: int) -> None:
        session = self._session
        if self._open is not None or not session.recorder.is_live:
            return
        with self._changing:
            due = [requested for requested in self._waiting if self._is_due(requested, number)]
            if due:
                self._waiting.remove(due[0])
            self._set_alarm()
        if due:
            began_ns = ticks_ns()
            self._begin(due[0], number)
            session.overhead.refund(ticks_ns() - began_ns)
        self._prepare_upcoming()

    def _is_due(self, requested: RequestedWindow, number: int) -> bool:
        window = requested.window
        # an operation that began in the previous window must not end in this one: PyTorch's
        # profiler would access freed memory and crash the process
        if number <= self._ended_step + 1:
            return False
        if window.start_step is not None and number <= window.start_step:
            return number == window.start_step
        if not self._is_settled:  # a window without a fixed step waits for the previous one
            return False
        due_ns = self._begin_ns + int((window.start_seconds or 0.0) * NANOSECONDS)
        return self._session.clock.now_ns() >= due_ns

    def _set_alarm(self) -> None:
        """Set when the next window may be due; until then, each step costs one comparison."""
        steps, times = [_NEVER], [_NEVER]
        for requested in self._waiting:
            window = requested.window
            if window.start_seconds is not None:
                times.append(self._begin_ns + int(window.start_seconds * NANOSECONDS))
            else:
                steps.append(window.start_step or 0)
        self._wake_step, self._wake_ns = min(steps), min(times)

    def _begin(self, requested: RequestedWindow, number: int) -> bool:
        began_ns = ticks_ns()
        session, kind = self._session, requested.window.kind
        profiler = self._ready_profiler(requested)
        if profiler is None:
            return False
        window = replace(requested.window, start_step=number)
        reason = session.guard.call(_component(kind), lambda: profiler.begin(window), _FAILED)
        if reason is not None:
            self._refuse(requested, reason)
            return False
        now_ns = session.clock.now_ns()
        seconds = window.duration_seconds
        end_ns = _NEVER if seconds is None else now_ns + int(seconds * NANOSECONDS)
        cost_ns = ticks_ns() - began_ns
        self._open = _OpenWindow(requested, window, now_ns, cost_ns, end_ns, latest_ns=now_ns)
        requested.began = number
        session.steps.profile(kind.value)
        session.worker_thread.submit("beat", session.send_heartbeat)
        return True

    def _end(self, current: _OpenWindow, cut_reason: str) -> None:
        """Stop the profiler and record the window."""
        session, kind = self._session, current.window.kind
        end_ns, began_ns = session.clock.now_ns(), ticks_ns()
        profiler = self._profilers[kind]
        assert profiler is not None
        session.guard.call(_component(kind), lambda: profiler.end(current.window), None)
        current.cost_ns += ticks_ns() - began_ns
        self._record(current, cut_reason, end_ns)
        session.steps.profile("")
        self._ended_step, self._is_settled = session.steps.counts[_TRAIN] - 1, False
        session.worker_thread.submit(_COMPONENT, self._settled)

    def _record(self, current: _OpenWindow, cut_reason: str, end_ns: int | None = None) -> None:
        window, first = current.window, current.window.start_step or 0
        last = max(first, self._session.steps.counts[_TRAIN] - 1)
        detail: dict[str, object] = {
            "steps": [first, last],
            "by": window.by,
            "cost_seconds": round(current.cost_ns / NANOSECONDS, 6),
        }
        detail |= {"options": dict(window.options)} if window.options else {}
        detail |= {"cut": cut_reason} if cut_reason else {}
        start_ns, kind = current.start_ns, window.kind.value
        length_ns = (end_ns or self._session.clock.now_ns()) - start_ns
        category, encoded = EventCategory.WINDOW.value, json.dumps(detail, separators=(",", ":"))
        row = (kind, category, LANE, start_ns, length_ns, first, _TRAIN, encoded)
        self._session.recorder.event(row)
        self._open = None

    def _settled(self) -> None:
        self._is_settled = True
        self._session.send_heartbeat()

    def _prepare_upcoming(self) -> None:
        """Prepare the profilers of windows that begin soon, in the worker thread."""
        session = self._session
        number, now_ns = session.steps.counts[_TRAIN], session.clock.now_ns()
        for requested in list(self._waiting):
            window = requested.window
            steps_ahead = (window.start_step or 0) - number
            due_ns = self._begin_ns + int((window.start_seconds or 0.0) * NANOSECONDS)
            is_soon = due_ns - now_ns <= _PREPARE_SECONDS * NANOSECONDS
            is_near = is_soon and steps_ahead <= _PREPARE_STEPS
            if is_near and requested.is_prepared is None and self._has_subject(requested):
                requested.is_prepared = threading.Event()
                session.worker_thread.submit(_COMPONENT, partial(self._prepare, requested))

    def _prepare(self, requested: RequestedWindow) -> None:
        def prepare() -> None:
            profiler = self._profiler(requested)
            if profiler is not None:
                profiler.prepare(requested.window)

        self._session.guard.call(_component(requested.window.kind), prepare, None)
        if requested.is_prepared is not None:
            requested.is_prepared.set()

    def _has_subject(self, requested: RequestedWindow) -> bool:
        """Whether there is anything to profile: a window must not import PyTorch for the script."""
        if requested.window.kind is ProfileKind.PYTHON or self._trains_with_torch:
            return True
        return not (requested.is_default or self._session.frameworks.adapters)

    @property
    def _trains_with_torch(self) -> bool:
        return _TORCH in self._session.frameworks.adapters

    def _profiler(self, requested: RequestedWindow) -> Profiler | None:
        """The profiler of the requested kind, or None if there is none."""
        kind = requested.window.kind.value
        if not self._has_subject(requested):
            self._refuse(requested, "the process does not use PyTorch")
            return None
        if kind not in self._profilers:
            exists = kind in PROFILERS
            self._profilers[kind] = PROFILERS.load(kind)(self._session) if exists else None
        if self._profilers[kind] is None:
            self._refuse(requested, f"no {kind} profiler is available")
        return self._profilers[kind]

    def _ready_profiler(self, requested: RequestedWindow) -> Profiler | None:
        """The prepared profiler, or None if it cannot be used; waits for a limited time."""
        session, kind = self._session, requested.window.kind
        if requested.is_prepared is None:
            self._prepare(requested)
        elif not session.clock.wait(requested.is_prepared, _READY_SECONDS):
            reason = f"profiler not ready after {format_duration(_READY_SECONDS)}"
            self._refuse(requested, reason)
            return None
        if _component(kind) in session.guard.failed:
            requested.refusal = requested.refusal or session.guard.failed[_component(kind)]
            return None
        return self._profilers.get(kind)

    def _refuse(self, requested: RequestedWindow, reason: str) -> None:
        """Record why a window was not opened if the window was expected."""
        requested.refusal = reason
        session, kind = self._session, requested.window.kind
        is_explicit = not requested.is_default
        # without PyTorch, the default windows are not expected
        is_expected = self._trains_with_torch and kind in PROFILERS
        if reason is not _FAILED and (is_explicit or is_expected):
            session.store.notice(NoticeKind.NOT_COLLECTED, f"{kind.value} profile", reason)


def _component(kind: str) -> str:
    return f"{kind} profiler"
