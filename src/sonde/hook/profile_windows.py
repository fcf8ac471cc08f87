"""Windows: when a profiler looks deeper, for a few steps or seconds.

One is open at a time, so that no profiler sees another one's work. They begin and end between two
steps, in the thread that trains; what that takes is recorded with the window, and is neither a
step's nor the hook's.
"""

import json
import sys
import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sonde.clock import NANOSECONDS, ticks_ns
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
_PART = "profiling windows"
_PLAN = "plan"  # who asks for a window where nobody says so
_TRAIN = Mode.TRAIN.value
_NEVER = sys.maxsize
_NEAR_STEPS = 200  # so long before a window its profiler is made ready
_NEAR_SECONDS = 60.0
_READY_SECONDS = 5.0  # what a step waits for a profiler that is not ready
_TIMES_LONGER = 10  # at most, where the steps of a usual window were too short to tell anything
_EVALUATION_NS = 10 * NANOSECONDS  # an evaluation that lasts longer ends a window of steps
_FAILED: str | None = "it failed"


@dataclass(slots=True)
class Asked:
    """A window that somebody has asked for, and what became of it."""

    window: Window
    is_usual: bool = False  # nobody has asked for just these steps
    is_prepared: threading.Event | None = None  # None: nobody has begun to
    began: int | None = None  # its first step
    refusal: str | None = None  # why there was none


@dataclass(slots=True)
class _Open:
    """The window that is open."""

    asked: Asked
    window: Window  # with the step at which it began
    start_ns: int
    cost_ns: int
    end_ns: int  # by time; else never
    steps: int = 0  # that were finished in it
    latest_ns: int = 0  # when the last of them was


class Windows:
    """The windows of a training process: those of its plan, and those that were asked for."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._changing = threading.Lock()  # the list of waiting windows, by any thread
        self._on_request: list[Callable[[], None]] = []
        session.listeners.on_step(_PART, self._step_over)
        session.listeners.on_begin(self._life_begins)
        session.listeners.on_end(self.close)
        self._look = session.guard.shield(_PART, self._begin_due, None)

    def start_anew(self) -> None:
        """A new life: nothing is open, nothing waits, no profiler is ready."""
        self._open: _Open | None = None
        self._waiting: list[Asked] = []
        self._profilers: dict[str, Profiler | None] = {}
        self._wake_step, self._wake_ns = _NEVER, _NEVER
        self._begin_ns = 0
        self._has_stepped = False
        self._ended_step = -2  # long ago
        self._is_settled = True

    @property
    def is_open(self) -> bool:
        """Whether a profiler is at work."""
        return self._open is not None

    @property
    def running(self) -> RunningWindow | None:
        """The open window, for those who watch."""
        one = self._open
        if one is None:
            return None
        window, first = one.window, one.window.start_step or 0
        is_by_steps = window.duration_seconds is None and window.num_steps
        last = first + window.num_steps - 1 if is_by_steps else None
        return RunningWindow(window.kind, first, last, one.start_ns, window.by)

    def steps_until(self, number: int) -> int:
        """How many steps from this one on end before anything is to begin or to end."""
        return 0 if self._open is not None else max(0, self._wake_step - 1 - number)

    def ask(self, *windows: Window) -> tuple[Asked, ...]:
        """Windows as soon as it is their turn; by any thread."""
        asked = tuple(Asked(window, window in DEFAULT_WINDOWS) for window in windows)
        with self._changing:
            self._waiting += asked
            self._set_alarm()
        self.notify_request()
        self._make_ready()
        return asked

    def on_request(self, *listeners: "Callable[[], None]") -> None:
        """Call these whenever windows are requested, in the thread that requests them."""
        self._on_request += listeners

    def notify_request(self) -> None:
        """Let hooks see the next steps closely: something is requested."""
        for listener in self._on_request:
            listener()

    def follow(self, before: tuple[Window, ...]) -> None:
        """Another plan holds from now on, as far as it lies ahead."""
        session = self._session
        plan, number = session.settings.profile, session.steps.counts[_TRAIN]
        if not session.state.is_on or plan == before:
            return
        with self._changing:
            self._waiting = [one for one in self._waiting if one.window.by != _PLAN]
            self._set_alarm()
        self.ask(*(one for one in plan if one.start_step is None or one.start_step > number))

    def between_steps(self, step: FinishedStep) -> None:
        """A step is over, and everybody has been told: what is due begins."""
        if step.number + 1 < self._wake_step and step.end_ns < self._wake_ns:
            return
        if step.mode == _TRAIN:
            self._look(step.number + 1)

    def begin_now(self, window: Window) -> bool:
        """A window begins right here, by the word of a script; whether it does."""
        return self._open is None and self._begin(Asked(window), self._session.steps.counts[_TRAIN])

    def end_now(self) -> None:
        """The open window ends right here."""
        if self._open is not None:
            self._end(self._open, "")

    def close(self) -> None:
        """Training is over: so is the window."""
        self._wake_step, self._wake_ns = _NEVER, _NEVER
        if self._open is None:
            return
        if self._session.thread.is_current():
            self._end(self._open, "the training was over")
        else:  # no profiler can be switched off by another thread
            self._record(self._open, "the recording was ended from outside")

    def _life_begins(self) -> None:
        session = self._session
        self._begin_ns = session.clock.now_ns()
        if session.settings.profile:
            self.ask(*session.settings.profile)
            self._place_plan(session.steps.counts[_TRAIN])
            if self._wake_step <= session.steps.counts[_TRAIN]:
                self._look(session.steps.counts[_TRAIN])

    def _step_over(self, step: FinishedStep) -> None:
        """Ends the open window after its last step."""
        if step.mode == _TRAIN and not self._has_stepped:
            self._has_stepped = True
            self._place_plan(step.number)
        one = self._open
        if one is None:
            return
        if step.mode == _TRAIN:
            one.steps, one.latest_ns = one.steps + 1, step.end_ns
        count = one.window.num_steps if one.window.duration_seconds is None else 0
        is_done = count and one.steps >= count and not self._goes_on(one, step.number + 1)
        cut = ""
        if step.mode != _TRAIN and step.end_ns - one.latest_ns >= _EVALUATION_NS:
            cut = "an evaluation took too long"
        if is_done or cut or step.end_ns >= one.end_ns:
            began_ns = ticks_ns()
            self._end(one, cut)
            self._session.overhead.refund(ticks_ns() - began_ns)

    def _goes_on(self, one: _Open, number: int) -> bool:
        """Whether a usual window is longer: its steps were short, and no other is to begin."""
        most = _TIMES_LONGER * one.window.num_steps
        # a step has to lie between this one and the next
        if not one.asked.is_usual or one.steps >= most or self._wake_step <= number + 1:
            return False
        profiler = self._profilers[one.window.kind]
        assert profiler is not None
        kind = _part(one.window.kind)
        return not self._session.guard.call(kind, profiler.has_enough, True)

    def _place_plan(self, first: int) -> None:
        """The plan counts from the first step there is: training may have been resumed."""
        if not first:
            return
        with self._changing:
            for asked in list(self._waiting):
                window = asked.window
                if window in DEFAULT_WINDOWS:
                    asked.window = replace(window, start_step=first + (window.start_step or 0))
                elif window.start_step is not None and window.start_step < first:
                    self._waiting.remove(asked)
                    reason = f"training was resumed at step {first}, after step {window.start_step}"
                    self._refuse(asked, reason)
            self._set_alarm()

    def _begin_due(self, number: int) -> None:
        session = self._session
        if self._open is not None or not session.recorder.is_live:
            return
        with self._changing:
            due = [one for one in self._waiting if self._is_due(one, number)]
            if due:
                self._waiting.remove(due[0])
            self._set_alarm()
        if due:
            began_ns = ticks_ns()
            self._begin(due[0], number)
            session.overhead.refund(ticks_ns() - began_ns)
        self._make_ready()

    def _is_due(self, asked: Asked, number: int) -> bool:
        window = asked.window
        # what is still under way since the window before must not end in this one: PyTorch would
        # look for it where it no longer is, and take the process down
        if number <= self._ended_step + 1:
            return False
        if window.start_step is not None and number <= window.start_step:
            return number == window.start_step
        if not self._is_settled:  # what may begin at any step lets the one before it settle
            return False
        since = self._begin_ns + int((window.start_seconds or 0.0) * NANOSECONDS)
        return self._session.clock.now_ns() >= since

    def _set_alarm(self) -> None:
        """When to look again; until then a step costs a comparison."""
        steps, times = [_NEVER], [_NEVER]
        for one in self._waiting:
            if one.window.start_seconds is not None:
                times.append(self._begin_ns + int(one.window.start_seconds * NANOSECONDS))
            else:
                steps.append(one.window.start_step or 0)
        self._wake_step, self._wake_ns = min(steps), min(times)

    def _begin(self, asked: Asked, number: int) -> bool:
        began_ns = ticks_ns()
        session, kind = self._session, asked.window.kind
        profiler = self._ready(asked)
        if profiler is None:
            return False
        window = replace(asked.window, start_step=number)
        reason = session.guard.call(_part(kind), lambda: profiler.begin(window), _FAILED)
        if reason is not None:
            self._refuse(asked, reason)
            return False
        now_ns = session.clock.now_ns()
        seconds = window.duration_seconds
        end_ns = _NEVER if seconds is None else now_ns + int(seconds * NANOSECONDS)
        cost_ns = ticks_ns() - began_ns
        self._open = _Open(asked, window, now_ns, cost_ns, end_ns, latest_ns=now_ns)
        asked.began = number
        session.steps.profile(kind.value)
        session.worker_thread.hand("beat", session.send_heartbeat)
        return True

    def _end(self, one: _Open, cut: str) -> None:
        """Switches the profiler off."""
        session, kind = self._session, one.window.kind
        end_ns, began_ns = session.clock.now_ns(), ticks_ns()
        profiler = self._profilers[kind]
        assert profiler is not None
        session.guard.call(_part(kind), lambda: profiler.end(one.window), None)
        one.cost_ns += ticks_ns() - began_ns
        self._record(one, cut, end_ns)
        session.steps.profile("")
        self._ended_step, self._is_settled = session.steps.counts[_TRAIN] - 1, False
        session.worker_thread.hand(_PART, self._settled)

    def _record(self, one: _Open, cut: str, end_ns: int | None = None) -> None:
        window, first = one.window, one.window.start_step or 0
        last = max(first, self._session.steps.counts[_TRAIN] - 1)
        detail: dict[str, object] = {
            "steps": [first, last],
            "by": window.by,
            "cost_seconds": round(one.cost_ns / NANOSECONDS, 6),
        }
        detail |= {"options": dict(window.options)} if window.options else {}
        detail |= {"cut": cut} if cut else {}
        length_ns = (end_ns or self._session.clock.now_ns()) - one.start_ns
        category, said = EventCategory.WINDOW.value, json.dumps(detail, separators=(",", ":"))
        kind = window.kind.value
        self._session.recorder.event(
            (kind, category, LANE, one.start_ns, length_ns, first, _TRAIN, said)
        )
        self._open = None

    def _settled(self) -> None:
        self._is_settled = True
        self._session.send_heartbeat()

    def _make_ready(self) -> None:
        """Lets the profilers of windows that are near get ready, in the backroom."""
        session = self._session
        number, now_ns = session.steps.counts[_TRAIN], session.clock.now_ns()
        for asked in list(self._waiting):
            window = asked.window
            since = self._begin_ns + int((window.start_seconds or 0.0) * NANOSECONDS)
            is_near = (
                window.start_step or 0
            ) - number <= _NEAR_STEPS and since - now_ns <= _NEAR_SECONDS * NANOSECONDS
            if is_near and asked.is_prepared is None and self._has_subject(asked):
                asked.is_prepared = threading.Event()
                session.worker_thread.hand(_PART, partial(self._prepare, asked))

    def _prepare(self, asked: Asked) -> None:
        def prepare() -> None:
            profiler = self._profiler(asked)
            if profiler is not None:
                profiler.prepare(asked.window)

        self._session.guard.call(_part(asked.window.kind), prepare, None)
        if asked.is_prepared is not None:
            asked.is_prepared.set()

    def _has_subject(self, asked: Asked) -> bool:
        """Whether there is what it looks at: it loads no framework into a script without one."""
        is_about_python = asked.window.kind is ProfileKind.PYTHON
        return is_about_python or not asked.is_usual or bool(self._session.frameworks.adapters)

    def _profiler(self, asked: Asked) -> Profiler | None:
        """The profiler of a kind; None where nobody has written one."""
        kind = asked.window.kind.value
        if not self._has_subject(asked):
            self._refuse(asked, "no framework is watched")
            return None
        if kind not in self._profilers:
            is_there = kind in PROFILERS
            self._profilers[kind] = PROFILERS.load(kind)(self._session) if is_there else None
        if self._profilers[kind] is None:
            self._refuse(asked, f"there is no profiler of {kind}")
        return self._profilers[kind]

    def _ready(self, asked: Asked) -> Profiler | None:
        """The profiler, once it is ready; a step that comes too early waits for it."""
        session, kind = self._session, asked.window.kind
        if asked.is_prepared is None:
            self._prepare(asked)
        elif not session.clock.wait(asked.is_prepared, _READY_SECONDS):
            self._refuse(asked, f"its profiler was not ready after {_READY_SECONDS:g} s")
            return None
        if _part(kind) in session.guard.failed:
            asked.refusal = asked.refusal or session.guard.failed[_part(kind)]
            return None
        return self._profilers.get(kind)

    def _refuse(self, asked: Asked, reason: str) -> None:
        """Says why there is no window, where somebody has asked for it."""
        asked.refusal = reason
        session, kind = self._session, asked.window.kind
        is_asked_for = not asked.is_usual
        # a process without a framework is not expected to have what the usual windows look at
        is_expected = bool(session.frameworks.adapters) and kind in PROFILERS
        if reason is not _FAILED and (is_asked_for or is_expected):
            session.store.notice(NoticeKind.NOT_COLLECTED, f"a profile of {kind.value}", reason)


def _part(kind: str) -> str:
    return f"profiler of {kind}"
