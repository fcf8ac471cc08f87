"""The session of one training process: the one object that users and adapters talk to.

It sleeps until training really begins: a process that only imports a framework (a worker of a data
loader, a tool) opens no file and starts no thread.
"""

import atexit
import multiprocessing.util
import os
import threading
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any, Optional

from sonde.clock import NANOSECONDS, Clock, SystemClock, thread_cpu_ns
from sonde.collect.account import Account, Resting, Result
from sonde.collect.backroom import Backroom
from sonde.collect.beat import beat_of
from sonde.collect.beginning import Beginning
from sonde.collect.budget import COLD, ENTRY_NS, Budget
from sonde.collect.counted_steps import EventRow
from sonde.collect.identity import claim_worker, earlier_counts, facts_of
from sonde.collect.loss_report import send_losses
from sonde.collect.requests import Requests
from sonde.collect.rows import Rows
from sonde.collect.steps import FinishedStep, Steps
from sonde.collect.tensors.plan import Plan
from sonde.collect.training_thread import TrainingThread
from sonde.collect.windows import Windows
from sonde.guard import Guard, error_text
from sonde.records.notice import Notice, NoticeKind
from sonde.records.worker import TensorIndex, TensorInfo, WorkerInfo
from sonde.settings import HookSettings, WorkerPlace, hook_settings, worker_place
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import encode_facts
from sonde.store.format import EVENTS, OBSERVATIONS, OPERATIONS, SCALARS
from sonde.store.writer import Writer

if TYPE_CHECKING:
    from sonde.collect.frameworks import Adapter
    from sonde.collect.tensors.taker import Tensors

_FLUSH_SECONDS = 2.0
_BEAT_SECONDS = 5.0
_WORK_SECONDS = 10.0  # what the end of training may wait for what was asked for before
_FLUSH_END_SECONDS = 3.0
_WAITING_LIMIT_BYTES = 64 * 1024 * 1024


At = tuple[str, int]  # a mode, and the number of a step in it


class Session(TrainingThread, Account):
    """What one training process records."""

    _current: Optional["Session"] = None

    def __init__(self, place: WorkerPlace, settings: HookSettings, clock: Clock) -> None:
        self.place = place
        self.settings = settings
        self.clock = clock
        self.plan = Plan(settings)
        self.framework = ""
        self.versions: dict[str, str] = {}
        self.find_device: Callable[[], str] = lambda: "cpu"
        self.may_begin: Callable[[], bool] = lambda: True  # not in a process that only serves data
        self.guard = Guard(self._on_failure)
        self._after_step: list[Callable[[FinishedStep], None]] = []
        self.on_non_finite: list[Callable[[str, float, At], None]] = []  # in any thread
        self.catch_up: Callable[[], None] = lambda: None  # goes through all notes
        self.forget_notes: Callable[[], None] = lambda: None
        self.flush_rest: Callable[[], None] = lambda: None  # records what is kept while resting
        self.around: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda hook: hook
        self.at_begin: list[Callable[[], None]] = []
        self.before_flush: list[Callable[[], None]] = []
        self.at_end: list[Callable[[], None]] = []
        self.before_said_step: list[Callable[[], None]] = []
        self.adapters: dict[str, Adapter] = {}
        self.tensors: Tensors | None = None
        self._rows = Rows(EVENTS, SCALARS, OBSERVATIONS, OPERATIONS)
        self.operation = self._rows.adder(OPERATIONS)  # what a profiler saw, by any thread
        self._now_ns = clock.now_ns
        self._add_scalar = self._rows.adder(SCALARS)
        self.steps = Steps(clock.now_ns, self._rows.adder(EVENTS), self._step_over)
        self.windows = Windows(self)
        self.requests = Requests(self)
        self._begin_life()

    def _begin_life(self) -> None:
        """Nothing is recorded yet; in a forked child, nothing of its own."""
        self.is_on = False
        self.info: WorkerInfo | None = None
        self.budget = Budget(self.settings.overhead_percent)
        self._begin_threads()
        self._is_paused = False
        self._holds = 0  # graphs that are being recorded
        self.value_bytes = 0  # written of full tensors
        self.hook_ns = 0
        self.is_behind = False  # notes were left that nobody has gone through yet
        self.is_resting = False  # hooks are out of the way: only the ends of steps are kept
        self._accounted_ns = 0  # until when training time and the hook's share were counted
        self._least_ns: dict[str, int] = {}
        self._said: set[tuple[str, str]] = set()
        self._unsaid: list[tuple[NoticeKind, str, str]] = []  # until there is a writer
        self._tensors: dict[str, TensorInfo] = {}
        self._tensors_written = 0
        self._beat_due = 0.0
        self._beginning = Beginning(self.place, self.clock)
        self._backend: Backend | None = None
        self._writer: Writer | None = None
        self._backroom: Backroom | None = None
        self.windows.start_anew()

    @classmethod
    def of_process(cls) -> "Session":
        """The session of this process."""
        if cls._current is None:
            place = worker_place()
            cls._current = cls(place, hook_settings(), SystemClock(place.clock_anchor_ns))
            os.register_at_fork(after_in_child=cls._current.start_anew)
        return cls._current

    def start_anew(self) -> None:
        """In a forked child what the parent recorded is not ours, and its thread is not here."""
        self._rows.clear()
        self.forget_notes()
        self.steps.start_anew()
        self._begin_life()

    def open_again(self, place: WorkerPlace, settings: HookSettings) -> None:
        """Another job begins in this process, or its own goes on after a `close`."""
        self.close()
        self.place = place
        self.guard.failed.clear()
        self.follow(settings)
        self.start_anew()

    @property
    def is_closed(self) -> bool:
        """Whether a life is over, and no other has begun."""
        return self._writer is not None and self._backroom is None

    def follow(self, settings: HookSettings) -> None:
        """From now on these settings hold."""
        before, self.settings = self.settings, settings
        self.plan.follow(settings)
        self.windows.follow(before.profile)

    @property
    def writer(self) -> Writer:
        """Where everything goes; there once the session is on."""
        assert self._writer is not None
        return self._writer

    @property
    def backend(self) -> Backend:
        """The job's store; there once the session is on."""
        assert self._backend is not None
        return self._backend

    def activate(self) -> bool:
        """Training begins; whether anything is recorded."""
        if self.is_on or self._holds or self._is_paused or not self._beginning.is_due():
            return self.is_on
        with self._thread_lock:  # several threads may come to their first step at once
            if not self.is_on:
                self.guard.call("the session", lambda: self._beginning.attempt(self._begin), None)
        return self.is_on

    def hook(
        self,
        part: str,
        function: Callable[..., Result],
        default: Result,
        resting: Resting = Resting.WAKES,
    ) -> Callable[..., Result]:
        """A function as a hook: guarded, timed, and only in the thread that trains."""
        shielded = self.guard.shield(part, self.around(function), default)
        get_ident = threading.get_ident
        is_skipped, wakes = resting is Resting.SKIPS, resting is Resting.WAKES

        def timed(*arguments: object) -> Result:
            if self.is_resting and is_skipped:
                return default
            if not (self.is_on or self.activate()):
                return default
            if get_ident() != self.thread_id and not self.claim_training():
                return default
            began_ns = thread_cpu_ns()
            if self.is_behind:
                is_flushed = self.is_resting and not wakes
                self.guard.call("notes", self.flush_rest if is_flushed else self.catch_up, None)
            result = shielded(*arguments)
            self.hook_ns += int(COLD * (thread_cpu_ns() - began_ns)) + ENTRY_NS
            return result

        return timed

    def take_time_from(self, now_ns: Callable[[], int]) -> None:
        """What is recorded from now on carries the times that this tells."""
        self._now_ns = now_ns
        self.steps.take_time_from(now_ns)

    @property
    def is_in_the_present(self) -> bool:
        """Whether what happens is told as it happens, not later from notes."""
        return self._now_ns == self.clock.now_ns

    def each_step(self, part: str, listener: Callable[[FinishedStep], None]) -> None:
        """Tells somebody of every step that is over; who fails is told no more."""
        self._after_step.append(self.guard.shield(part, listener, None))

    def scalar(
        self,
        name: str,
        value: float,
        source: str = "hook",
        at: At | None = None,
    ) -> None:
        """One number of the step under way, or of another that is named by mode and number."""
        mode, number = at or (self.steps.mode, self.steps.number)
        self._add_scalar((name, self._now_ns(), number, mode, float(value), source))
        if source == "hook" and not isfinite(value):
            for listener in self.on_non_finite:
                listener(name, value, (mode, number))

    def observe(
        self,
        kind: str,
        subject: str,
        value: float = 0.0,
        detail: str = "",
        at: At | None = None,
    ) -> None:
        """A fact for rules, of the step under way or of another one."""
        mode, number = at or (self.steps.mode, self.steps.number)
        row = (kind, subject, self._now_ns(), number, mode, value, detail)
        self._rows.of(OBSERVATIONS).append(row)

    def say(self, kind: NoticeKind, what: str, reason: str) -> None:
        """Something about the recording, said once."""
        if (what, reason) not in self._said:
            self._said.add((what, reason))
            if self._writer is not None:
                self._writer.notice(kind, what, reason)
            else:
                self._unsaid.append((kind, what, reason))

    def end_step(self) -> None:
        """The script says that its step is over."""
        for listener in self.before_said_step:
            listener()
        self.steps.end_step()

    def event(self, row: EventRow) -> None:
        """An event that belongs to no phase of the training thread."""
        self._rows.of(EVENTS).append(row)

    def know(self, info: TensorInfo) -> None:
        """A tensor that is recorded from now on."""
        self._tensors[info.name] = info

    def knows(self, name: str) -> bool:
        """Whether a tensor was introduced."""
        return name in self._tensors

    @property
    def backroom(self) -> Backroom:
        """The hook's own thread; there once the session is on."""
        assert self._backroom is not None
        return self._backroom

    def hold(self) -> None:
        """Does nothing at all until `release`, and asks no device anything; it may be nested."""
        self._holds += 1
        if self._holds == 1 and self._backroom is not None:
            self._backroom.hold()
        self.is_on = False

    def release(self) -> None:
        """Goes on after a hold; what was closed meanwhile does not."""
        was_held, self._holds = self._holds == 1, max(0, self._holds - 1)
        if was_held and self._backroom is not None:
            self._backroom.release()
            self.is_on = not self._is_paused

    def pause(self) -> None:
        """Nothing is seen until `resume`; what was seen is written."""
        if self.is_on:
            self.guard.call("notes", self.catch_up, None)
            self.guard.call("a pause", self.steps.close, None)
        self._is_paused, self.is_on = True, False
        self._accounted_ns = 0

    def resume(self) -> None:
        """Goes on after a pause."""
        self._is_paused = False
        self.is_on = self._writer is not None

    def close(self) -> None:
        """Writes what is left; returns in a few seconds, whatever the store does."""
        if self._backroom is None:
            return
        while self._holds:
            self.release()
        self.is_on, self._is_paused = False, True
        self.guard.call("notes", self.catch_up, None)
        self.guard.call("the last step", self.steps.close, None)
        for ending in self.at_end:
            self.guard.call("the end", ending, None)
        given_up = self._backroom.close(_WORK_SECONDS)
        self._backroom = None
        if given_up:
            now_ns = self.clock.now_ns()
            what, reason = "statistics and values", f"{given_up} were not done at the end, in time"
            self.writer.report_lost(Notice(NoticeKind.LOST, what, reason, now_ns, now_ns))
        self.guard.attempt("the last flush", lambda: self._write_end(_FLUSH_END_SECONDS), None)

    def _begin(self) -> None:
        if self.place.job_uri is None or not self.may_begin():
            self._is_paused = True
            return
        self._backend = open_backend(self.place.job_uri)
        self.info = claim_worker(
            self._backend,
            facts_of(
                self.place,
                self.clock.now_ns(),
                framework=self.framework,
                versions=self.versions,
                device=self.find_device(),
            ),
        )
        folder = layout.worker_folder(self.info.rank)
        self._writer = Writer(self._backend, folder, self.clock, _WAITING_LIMIT_BYTES)
        for unsaid in self._unsaid:
            self._writer.notice(*unsaid)
        self._writer.outbox.start()
        self._backroom = Backroom(
            self.clock, self.guard, self._tidy, _FLUSH_SECONDS, self.budget.thread_took
        )
        self._backroom.start()
        # processes of multiprocessing end without atexit
        multiprocessing.util.Finalize(None, self.close, exitpriority=1)
        atexit.register(self.close)
        self.steps.counts |= earlier_counts(self._backend, self.info)
        for beginning in self.at_begin:
            self.guard.call("the beginning", beginning, None)
        self._beginning.report_to(self._writer)
        self.is_on = True

    def _step_over(self, step: FinishedStep) -> None:
        if step.mode != "train":
            self.budget.outside_took(self.hook_ns / NANOSECONDS)
        elif self.is_in_the_present:
            self.budget.inspected(self.hook_ns / NANOSECONDS)
        self.account(step.start_ns, step.end_ns)
        for listener in self._after_step:
            listener(step)
        self.windows.between_steps(step)

    def _tidy(self) -> None:
        """Writes what has come together; called in the backroom."""
        for prepare in self.before_flush:
            prepare()
        self._rows.write(self.writer)
        self.writer.flush()
        if len(self._tensors) != self._tensors_written:
            self._tensors_written = len(self._tensors)
            self._document("tensors", TensorIndex(tuple(self._tensors.values())))
        if self.clock.seconds() >= self._beat_due:
            self._beat_due = self.clock.seconds() + _BEAT_SECONDS
            self.tell()

    def tell(self) -> None:
        """Tells how far training is; called in the backroom."""
        self._document("beat", beat_of(self, is_over=False))

    def _write_end(self, seconds: float) -> None:
        self._tidy()
        self._document("beat", beat_of(self, is_over=True))
        lost = self.writer.close(seconds)
        if lost and self.info is not None:
            is_recorded = self.writer.tell_lost()
            send_losses(self.place.run_id, self.info.rank, lost, is_recorded=is_recorded)

    def _document(self, what: str, record: object) -> None:
        assert self.info is not None
        info, backend = self.info, self.backend
        key = layout.worker_key(info.rank, info.attempt, info.restart, what)
        self.guard.attempt(what, lambda: backend.write(key, encode_facts(record, key)), None)

    def _on_failure(self, part: str, error: BaseException) -> None:
        self.say(NoticeKind.SWITCHED_OFF, part, error_text(error))
        if part == "the session":
            self._beginning.give_up(error_text(error))
