"""The session of one training process: puts together everything that records it.

It sleeps until training really begins: a process that only imports a framework (a worker of a data
loader, a tool) opens no file and starts no thread.
"""

import atexit
import multiprocessing.util
import os
import threading
from collections.abc import Callable
from typing import Optional

from sonde.clock import NANOSECONDS, Clock, SystemClock, thread_cpu_ns
from sonde.guard import Guard, error_text
from sonde.hook.attached_frameworks import AttachedFrameworks
from sonde.hook.budget import COLD, ENTRY_NS
from sonde.hook.heartbeat import heartbeat_of
from sonde.hook.hook_state import HookState
from sonde.hook.listeners import Listeners
from sonde.hook.overhead_account import Overhead, Resting, Result
from sonde.hook.profile_windows import Windows
from sonde.hook.recorder import Recorder
from sonde.hook.requests import Requests
from sonde.hook.steps import FinishedStep
from sonde.hook.tensors.plan import Plan
from sonde.hook.training_thread import TrainingThread
from sonde.hook.worker_store import WorkerStore
from sonde.hook.worker_thread import WorkerThread
from sonde.records.notice import NoticeKind
from sonde.settings import HookSettings, WorkerPlace, hook_settings, worker_place

_FLUSH_SECONDS = 2.0
_WORK_SECONDS = 10.0  # what the end of training may wait for work that was handed over before
_FLUSH_END_SECONDS = 3.0


class Session:
    """The lives of one training process: begin, hold, pause, close, and begin again."""

    _current: Optional["Session"] = None

    def __init__(self, place: WorkerPlace, settings: HookSettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.plan = Plan(settings)
        self.guard = Guard(self._on_failure)
        self.state = HookState()
        self.thread = TrainingThread(self._hand_over)
        self.frameworks = AttachedFrameworks()
        self.listeners = Listeners(self.guard)
        self.recorder = Recorder(clock.now_ns, self.listeners)
        self.steps = self.recorder.make_steps(self._step_over)
        self.store = WorkerStore(place, clock, self.guard)
        self.windows = Windows(self)
        self.overhead = Overhead(clock, self.state, self.windows)
        self.requests = Requests(self)
        self._begin_life()

    def _begin_life(self) -> None:
        """Nothing is recorded yet; in a forked child, nothing of its own."""
        self.state.reset()
        self.thread.reset()
        self.store.reset()
        self.overhead.reset(self.settings.overhead_percent)
        self._worker_thread: WorkerThread | None = None
        self.windows.start_anew()

    @classmethod
    def of_process(cls) -> "Session":
        """The session of this process."""
        if cls._current is None:
            place = worker_place()
            cls._current = cls(place, hook_settings(), SystemClock(place.clock_anchor_ns))
            os.register_at_fork(after_in_child=cls._current.reset)
        return cls._current

    def reset(self) -> None:
        """Forget what was recorded: in a forked child it is the parent's, and so is its thread."""
        self.recorder.rows.clear()
        self.state.forget_notes()
        self.steps.start_anew()
        self._begin_life()

    def reopen(self, place: WorkerPlace, settings: HookSettings) -> None:
        """Begin another job in this process, or go on with the same one after a `close`."""
        self.close()
        self.store.assign(place)
        self.guard.failed.clear()
        self.apply_settings(settings)
        self.reset()

    @property
    def is_closed(self) -> bool:
        """Whether a life is over, and no other has begun."""
        return self.store.is_open and self._worker_thread is None

    def apply_settings(self, settings: HookSettings) -> None:
        """Use these settings from now on."""
        before, self.settings = self.settings, settings
        self.plan.follow(settings)
        self.windows.follow(before.profile)

    def activate(self) -> bool:
        """Begin to record, unless that is impossible now; whether anything is recorded."""
        state = self.state
        if state.is_on or state.holds or state.is_paused or not self.store.may_try():
            return state.is_on
        with self.thread.lock:  # several threads may come to their first step at once
            if not state.is_on:
                self.guard.call("the session", lambda: self.store.attempt(self._begin), None)
        return state.is_on

    def hook(
        self,
        part: str,
        function: Callable[..., Result],
        default: Result,
        resting: Resting = Resting.WAKES,
    ) -> Callable[..., Result]:
        """A function as a hook: guarded, timed, and only in the thread that trains."""
        shielded = self.guard.shield(part, self.frameworks.around(function), default)
        get_ident, activate, guard = threading.get_ident, self.activate, self.guard
        state, thread, overhead = self.state, self.thread, self.overhead
        is_skipped, wakes = resting is Resting.SKIPS, resting is Resting.WAKES

        def timed(*arguments: object) -> Result:
            if state.is_resting and is_skipped:
                return default
            if not (state.is_on or activate()):
                return default
            if get_ident() != thread.id and not thread.claim():
                return default
            began_ns = thread_cpu_ns()
            if state.has_notes:
                is_flushed = state.is_resting and not wakes
                guard.call("notes", state.flush_rest if is_flushed else state.catch_up, None)
            result = shielded(*arguments)
            # not by a method: this is the hottest line of all hooks
            overhead.hook_ns += int(COLD * (thread_cpu_ns() - began_ns)) + ENTRY_NS
            return result

        return timed

    def end_step(self) -> None:
        """End a step where the script says so."""
        self.listeners.scripted_step()
        self.steps.end_step()

    @property
    def worker_thread(self) -> WorkerThread:
        """The hook's own thread; only once the session is on."""
        assert self._worker_thread is not None
        return self._worker_thread

    def hold(self) -> None:
        """Do nothing until `release`, and send no device a request; holds may be nested."""
        if self.state.add_hold() and self._worker_thread is not None:
            self._worker_thread.hold()
        self.state.switch_off()

    def release(self) -> None:
        """End a hold; a session that was closed meanwhile stays closed."""
        if self.state.remove_hold() and self._worker_thread is not None:
            self._worker_thread.release()
            self.state.switch_on()

    def pause(self) -> None:
        """Record nothing until `resume`; finish what was seen."""
        if self.state.is_on:
            self.guard.call("notes", self.state.catch_up, None)
            self.guard.call("a pause", self.steps.close, None)
        self.state.pause()
        self.overhead.interrupt()

    def resume(self) -> None:
        """End a pause."""
        self.state.resume(is_on=self.store.is_open)

    def close(self) -> None:
        """Write what is left; returns in a few seconds, whatever the store does."""
        if self._worker_thread is None:
            return
        while self.state.holds:
            self.release()
        self.state.pause()
        self.guard.call("notes", self.state.catch_up, None)
        self.guard.call("the last step", self.steps.close, None)
        self.listeners.end()
        dropped = self._worker_thread.close(_WORK_SECONDS)
        self._worker_thread = None
        if dropped:
            self.store.report_unfinished(dropped)
        self.guard.attempt("the last flush", self._write_end, None)

    def send_heartbeat(self) -> None:
        """Write how far training is; called in the worker thread."""
        self.store.write_document("beat", heartbeat_of(self, is_over=False))

    def _hand_over(self) -> None:
        """Another thread trains from now on."""
        self.pause()
        self.resume()

    def _begin(self) -> None:
        if self.store.place.job_uri is None or not self.frameworks.may_begin():
            self.state.pause()
            return
        self.store.open(self.frameworks)
        self._worker_thread = WorkerThread(
            self.clock, self.guard, self._flush, _FLUSH_SECONDS, self.overhead.budget.thread_took
        )
        self._worker_thread.start()
        # processes of multiprocessing end without atexit
        multiprocessing.util.Finalize(None, self.close, exitpriority=1)
        atexit.register(self.close)
        self.steps.counts |= self.store.earlier_counts()
        self.listeners.begin()
        self.store.report_begin()
        self.state.switch_on()

    def _step_over(self, step: FinishedStep) -> None:
        overhead = self.overhead
        if step.mode != "train":
            overhead.budget.outside_took(overhead.hook_ns / NANOSECONDS)
        elif self.recorder.is_live:
            overhead.budget.inspected(overhead.hook_ns / NANOSECONDS)
        overhead.account(step.start_ns, step.end_ns)
        for listener in self.listeners.steps:
            listener(step)
        self.windows.between_steps(step)

    def _flush(self) -> None:
        """Write all pending rows; called in the worker thread."""
        self.listeners.flush()
        self.store.flush(self.recorder.rows)
        if self.store.is_heartbeat_due():
            self.send_heartbeat()

    def _write_end(self) -> None:
        self._flush()
        self.store.write_document("beat", heartbeat_of(self, is_over=True))
        self.store.close(_FLUSH_END_SECONDS)

    def _on_failure(self, part: str, error: BaseException) -> None:
        self.store.notice(NoticeKind.SWITCHED_OFF, part, error_text(error))
        if part == "the session":
            self.store.give_up(error_text(error))
