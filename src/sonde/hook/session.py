"""The session of one training process: assembles everything that records it.

The session starts when training begins. A process that only imports a framework, such as a data
loader worker, opens no file and starts no thread.
"""

import atexit
import multiprocessing.util
import os
import threading
from collections.abc import Callable
from typing import ClassVar, Optional

from sonde.clock import NANOSECONDS, Clock, SystemClock, thread_cpu_ns
from sonde.guard import Guard, error_text
from sonde.hook.attached_frameworks import AttachedFrameworks
from sonde.hook.budget import COLD, ENTRY_NS
from sonde.hook.heartbeat import heartbeat_of
from sonde.hook.hook_state import HookState
from sonde.hook.listeners import Listeners
from sonde.hook.output_lines import OUTPUT, OutputLines
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
from sonde.settings import HookSettings, WorkerPlacement, hook_settings, worker_placement

_FLUSH_SECONDS = 2.0
_WORK_SECONDS = 10.0  # how long the end of training waits for submitted work
_FLUSH_END_SECONDS = 3.0


class Session:
    """The recording life cycle of one training process: begin, hold, pause, close, reopen."""

    _current: ClassVar[Optional["Session"]] = None

    def __init__(self, worker: WorkerPlacement, settings: HookSettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.plan = Plan(settings)
        self.guard = Guard(self._on_failure)
        self.state = HookState()
        self.thread = TrainingThread(self._hand_over)
        self.frameworks = AttachedFrameworks()
        self.listeners = Listeners(self.guard)
        self.recorder = Recorder(clock.now_ns, self.listeners)
        self.steps = self.recorder.make_steps(self._after_step)
        self.store = WorkerStore(worker, clock, self.guard)
        self.windows = Windows(self)
        self.overhead = Overhead(clock, self.state, self.windows)
        self.requests = Requests(self)
        self._reset_components()

    def _reset_components(self) -> None:
        """Reset every component to the state before the first record."""
        self.state.reset()
        self.thread.reset()
        self.store.reset()
        self.overhead.reset(self.settings.overhead_percent)
        self._worker_thread: WorkerThread | None = None
        self.windows.reset()

    @classmethod
    def of_process(cls) -> "Session":
        """The session of this process."""
        if cls._current is None:
            worker = worker_placement()
            cls._current = cls(worker, hook_settings(), SystemClock(worker.clock_anchor_ns))
            os.register_at_fork(after_in_child=cls._current.reset)
            cls._current.guard.call(OUTPUT, OutputLines(cls._current).install, None)
        return cls._current

    def reset(self) -> None:
        """Drop everything recorded so far: in a forked child, it belongs to the parent."""
        self.recorder.rows.clear()
        self.state.forget_notes()
        self.steps.reset()
        self._reset_components()

    def reopen(self, worker: WorkerPlacement, settings: HookSettings) -> None:
        """Begin another job in this process, or continue the same one after a `close`."""
        self.close()
        self.store.assign(worker)
        self.guard.failed.clear()
        self.apply_settings(settings)
        self.reset()

    @property
    def is_closed(self) -> bool:
        """Whether recording has ended and has not been reopened."""
        return self.store.is_open and self._worker_thread is None

    def apply_settings(self, settings: HookSettings) -> None:
        """Use these settings from now on."""
        before, self.settings = self.settings, settings
        self.plan.apply(settings)
        self.windows.apply_plan(before.profile)

    def activate(self) -> bool:
        """Start recording if possible; return whether recording is on."""
        state = self.state
        if state.is_on or state.holds or state.is_paused or not self.store.may_attempt():
            return state.is_on
        with self.thread.lock:  # several threads may reach their first step at once
            if not state.is_on:
                self.guard.call("the session", lambda: self.store.attempt(self._begin), None)
        return state.is_on

    def hook(
        self,
        component: str,
        function: Callable[..., Result],
        default: Result,
        resting: Resting = Resting.WAKES,
    ) -> Callable[..., Result]:
        """Wrap a function as a hook: guarded, timed, and active only in the training thread."""
        shielded = self.guard.shield(component, self.frameworks.wrap_hook(function), default)
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
            # inlined, since a method call here would slow down every hook
            overhead.hook_ns += int(COLD * (thread_cpu_ns() - began_ns)) + ENTRY_NS
            return result

        return timed

    def end_step(self) -> None:
        """End a step because the script calls `sonde.step`."""
        self.listeners.scripted_step()
        self.steps.end_step()

    @property
    def worker_thread(self) -> WorkerThread:
        """The background thread; available once recording has started."""
        assert self._worker_thread is not None
        return self._worker_thread

    def hold(self) -> None:
        """Suspend recording and all device access until `release`; holds may be nested."""
        if self.state.is_resting and self.thread.is_current():
            self.guard.call("notes", self.state.catch_up, None)  # nothing may be noted meanwhile
        if self.state.add_hold() and self._worker_thread is not None:
            self._worker_thread.hold()
        self.state.switch_off()

    def release(self) -> None:
        """End a hold; a session that was closed in the meantime stays closed."""
        if self.state.remove_hold() and self._worker_thread is not None:
            self._worker_thread.release()
            self.state.switch_on()

    def pause(self) -> None:
        """Finish the current step and record nothing until `resume`."""
        if self.state.is_on:
            self.guard.call("notes", self.state.catch_up, None)
            self.guard.call("a pause", self.steps.close, None)
        self.state.pause()
        self.overhead.interrupt()

    def resume(self) -> None:
        """End a pause."""
        self.state.resume(is_on=self.store.is_open)

    def close(self) -> None:
        """Write the remaining data; returns within seconds even if the store hangs."""
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

    def flush(self) -> None:
        """Write everything recorded so far; returns within seconds even if the store hangs."""
        if self._worker_thread is None:
            return
        self.guard.call("notes", self.state.catch_up, None)
        self.frameworks.write_held()
        if self._worker_thread.flush(_WORK_SECONDS):
            self.store.writer.outbox.write_waiting()

    def send_heartbeat(self) -> None:
        """Write the worker's progress; called in the worker thread."""
        self.store.write_document("beat", heartbeat_of(self, is_over=False))

    def _hand_over(self) -> None:
        """Close the current step: another thread takes over the training."""
        self.pause()
        self.resume()

    def _begin(self) -> None:
        if self.store.worker.job_uri is None or not self.frameworks.may_begin():
            self.state.pause()
            return
        self.store.open(self.frameworks)
        self._worker_thread = WorkerThread(
            self.clock, self.guard, self._flush, _FLUSH_SECONDS, self.overhead.budget.charge_thread
        )
        self._worker_thread.start()
        # processes of multiprocessing end without atexit
        multiprocessing.util.Finalize(None, self.close, exitpriority=1)
        atexit.register(self.close)
        self.steps.counts |= self.store.earlier_counts()
        self.listeners.begin()
        self.store.report_early_losses()
        self.state.switch_on()

    def _after_step(self, step: FinishedStep) -> None:
        overhead = self.overhead
        if step.mode != "train":
            overhead.budget.charge_outside_call(overhead.hook_ns / NANOSECONDS)
        elif self.recorder.is_live:
            seconds = overhead.hook_ns / NANOSECONDS
            overhead.budget.learn_inspection(seconds, is_hidden=overhead.is_hidden)
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
        self.guard.attempt("the last rows", self._flush, None)
        self.store.write_document("beat", heartbeat_of(self, is_over=True))
        self.store.close(_FLUSH_END_SECONDS)

    def _on_failure(self, component: str, error: BaseException) -> None:
        self.store.notice(NoticeKind.SWITCHED_OFF, component, error_text(error))
        if component == "the session":
            self.store.give_up(error_text(error))
