"""Record one attempt: sampling, heartbeats, control requests, and the processes beside the job.

Used by the launcher, which starts the command, by `attach`, which finds it running, and by
`sonde.start()`, which runs inside it.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.agent.control import ControlRequests
from sonde.agent.deadline import Deadline
from sonde.agent.disk_budget import DiskBudget
from sonde.agent.documents import AttemptDocuments
from sonde.agent.environment import find_environment, variables_of
from sonde.agent.heartbeat import HeartbeatWriter
from sonde.agent.outcome import Outcome
from sonde.agent.registration import Registration
from sonde.agent.relay import Relay
from sonde.agent.sampler import Sampler, open_collectors
from sonde.agent.side_processes import SideProcesses
from sonde.agent.system import Machine
from sonde.bounded_calls import call_within
from sonde.clock import SystemClock, process_cpu_seconds
from sonde.guard import Guard, error_text
from sonde.masking import MASK, mask_text
from sonde.records.job import Attempt, Exit, JobState
from sonde.records.notice import HOOK_FAILED, INSIDE, Notice, NoticeKind
from sonde.records.request import Request
from sonde.settings import RunSettings, environment
from sonde.store import layout
from sonde.store.control import Inbox
from sonde.store.writer import SEGMENT_SECONDS, Writer

if TYPE_CHECKING:
    from sonde.records.loss_report import WorkerLoss

END_SECONDS = 10.0  # time limit for the end of a recording
_PROMPT_SECONDS = 0.8  # time after which a terminal is back; exiting takes the rest of a second
_THREADS_SECONDS = 1.5  # of this, for threads and the last sample
_FLUSH_SECONDS = 8.5  # time limit for the last flush: a hanging connection times out after 7 s
_BEGIN_SECONDS = 0.5
_FIRST_HEARTBEAT_SECONDS = 1.0
_LAST_HEARTBEAT_SECONDS = 0.5


class Recording:
    """The recording of one attempt on one node."""

    def __init__(
        self,
        registration: Registration,
        settings: RunSettings,
        clock: SystemClock,
        on_stop: Callable[[Request], str],
        cpu_seconds: Callable[[], float] = process_cpu_seconds,
        relay: Relay | None = None,
    ) -> None:
        self._registration = registration
        self._settings = settings
        self._clock = clock
        self._cpu_seconds = cpu_seconds
        self._relay = relay
        self.worker_losses: Callable[[], Sequence[WorkerLoss]] = tuple  # reported by the end
        self._guard = Guard(partial(self._notice, NoticeKind.SWITCHED_OFF))
        backend = registration.backend
        sink = relay.source if relay else backend
        self._writer = Writer(sink, layout.node_folder(registration.node), clock)
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._documents = AttemptDocuments(registration, sink, self._writer, clock, self._guard)
        self._side = SideProcesses(
            registration, settings, clock, self._guard, self._report_rules_failure
        )
        self._heartbeat = HeartbeatWriter(
            *(self._documents, self._writer, clock, backend.flush_seconds, self._total_cpu_seconds)
        )
        forward = relay.forward if relay else _ignore
        self._control = ControlRequests(self._heartbeat, self._writer, clock, on_stop, forward)
        on_removal = partial(self._notice, NoticeKind.CHANGED)
        self._disk_budget = DiskBudget(backend, clock, settings.disk_bytes, on_removal)

    def begin(self, start: Callable[[], None]) -> None:
        """Start recording in a thread."""

        def guarded() -> None:
            self._guard.call("recording", start, None)

        try:
            thread = self._start_thread("begin", guarded)
        except RuntimeError:  # no more threads: record what needs none
            guarded()
            return
        # usually takes milliseconds; the command may suspend this process right after
        thread.join(_BEGIN_SECONDS)

    def _start_thread(self, name: str, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"sonde-{name}", daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def start(self, attempt: Attempt, *, samples_machine: bool = True) -> None:
        """Start recording; failures do not affect the job.

        Args:
            attempt: The attempt to record.
            samples_machine: Whether to sample the machine, not only the processes of the job.
        """
        if self._relay is not None:  # into the spool first: the store may be slow
            self._documents.write_start(attempt)
        # before the job appears to be running: later requests are new
        backend, node = self._registration.backend, self._registration.node
        inbox: Inbox | None = self._guard.call("requests", lambda: Inbox(backend, node), None)
        if self._relay is not None and self._over.is_set():  # a slow store and a short command
            return
        self._documents.write_start(attempt)
        if self._relay is not None:
            self._relay.wake()
        self._documents.take_reserve()
        self._heartbeat.sampler = sampler = self._create_sampler(
            attempt, samples_machine=samples_machine
        )
        self._writer.outbox.start()
        sink = self._relay.source if self._relay else backend
        sampler.start(sink.flush_seconds)
        # separate threads: git can take seconds, and neither requests nor heartbeats may wait
        self._start_thread("keeper", partial(self._keep, inbox))
        self._start_thread("environment", partial(self._record_environment, attempt))

    def _create_sampler(self, attempt: Attempt, *, samples_machine: bool) -> Sampler:
        uri = self._registration.backend.uri
        machine = Machine(
            job_pid=attempt.process_pid,
            job_mark=f"SONDE_RUN_ID={attempt.run_id}" if attempt.run_id else "",
            paths=(Path(attempt.folder), *(() if "://" in uri else (Path(uri),))),
        )
        collectors, missing = open_collectors(machine, samples_machine=samples_machine)
        for name, absence in missing.items():
            if absence.is_failure:
                self._notice(NoticeKind.SWITCHED_OFF, f"collector {name}", absence.reason)
        return Sampler(
            collectors,
            self._writer,
            self._clock,
            self._settings.interval_seconds,
            self._settings.overhead_percent,
            self._cpu_seconds,
        )

    def report_missing_hook(self, reason: str) -> None:
        """Record why nothing inside the processes of the job is recorded."""
        self._notice(NoticeKind.HOOK_NOT_LOADED, INSIDE, reason)

    def finish(self, exit_: Exit, *, leaves_report: bool = False) -> Outcome:
        """End the recording within ten seconds, even if the store or a collector hangs.

        Args:
            exit_: How the command ended.
            leaves_report: Leave a slow report to its process, which outlives this one.
        """
        self._over.set()
        prompt = Deadline(self._clock, _PROMPT_SECONDS) if leaves_report else None
        deadline = Deadline(self._clock, END_SECONDS)
        lost = self._close(Deadline(self._clock, _THREADS_SECONDS))
        call_within(deadline.remaining, "end", lambda: self._write_end(exit_), None)
        if self._documents.removal is not None:
            lost.insert(0, self._documents.removal)
        is_recorded = self._documents.is_exit_recorded and self._deliver(deadline)
        if is_recorded:
            write = partial(self._documents.write_file_list, exit_)
            call_within(deadline.remaining, "list of files", write, None)
            self._side.finish(deadline, prompt, has_failed=exit_.state is not JobState.COMPLETED)
            lost += self._side.late_failures
        else:
            self._side.switch_off_rules()
        is_long = self._heartbeat.elapsed_seconds >= SEGMENT_SECONDS
        if is_long and is_recorded:  # logs of a short job are small and read quickly
            self._side.seal_all(deadline.remaining)
        if is_recorded and self._side.cpu_seconds:  # record the overhead of the side processes
            seconds = max(deadline.remaining, _LAST_HEARTBEAT_SECONDS)
            call_within(seconds, "heartbeat", self._heartbeat.write, None)
        return Outcome(
            tuple(lost),
            self._heartbeat.overhead(),
            is_recorded,
            is_reported=self._side.reporter.is_written,
            is_reporting=self._side.reporter.is_left_behind,
            no_report=self._side.reporter.problem,
        )

    def _close(self, deadline: Deadline) -> list[Notice]:
        """Stop threads and sampling and flush; return what was lost."""
        flush_deadline = Deadline(self._clock, _FLUSH_SECONDS)
        for thread in self._threads:
            thread.join(deadline.remaining)
        sampler = self._heartbeat.sampler
        if sampler is not None:
            seconds = deadline.remaining
            call_within(seconds, "last sample", lambda: sampler.stop(seconds), None)
        call_within(deadline.remaining, "disk budget", self._disk_budget.enforce, None)
        lost: list[Notice] = []
        self._guard.attempt(
            "last flush",
            lambda: lost.extend(self._writer.close(flush_deadline.remaining)),
            None,
        )
        self._guard.attempt("lost data of workers", lambda: self._add_worker_losses(lost), None)
        return lost

    def _add_worker_losses(self, lost: list[Notice]) -> None:
        """Add what workers lost or did not record, and record what workers could not."""
        losses, now_ns = self.worker_losses(), self._clock.now_ns()
        notices = {_complete(loss.notice, now_ns): loss.is_recorded for loss in losses}
        for notice, is_recorded in notices.items():
            lost.insert(0, notice)
            if not is_recorded:
                self._writer.report_lost(notice)

    def _write_end(self, exit_: Exit) -> None:
        self._documents.release_reserve()
        if self._relay is None:
            self._documents.restore_job()
        self._documents.write_exit(exit_)
        self._heartbeat.write()
        self._guard.attempt("lost data", self._writer.record_losses, default=False)

    def _deliver(self, deadline: Deadline) -> bool:
        """Whether the written data has reached the store."""
        return self._relay is None or self._relay.deliver(deadline.remaining)

    def _keep(self, inbox: Inbox | None) -> None:
        """Answer requests, write heartbeats and check side processes, apart from sampling."""
        heartbeat_due = 0.0
        while True:
            if inbox is not None:
                self._guard.attempt("requests", lambda: self._control.answer(inbox), None)
            if self._clock.seconds() >= heartbeat_due:
                # the second heartbeat follows soon, to bound the end of a short job that is lost
                is_first = not heartbeat_due
                pause = _FIRST_HEARTBEAT_SECONDS if is_first else self._heartbeat.interval_seconds
                heartbeat_due = self._clock.seconds() + pause
                self._send_heartbeat()
            self._side.check_rules()
            if self._clock.wait(self._over, self._registration.backend.poll_seconds):
                return

    def _send_heartbeat(self) -> None:
        self._heartbeat.write()
        self._guard.attempt("clock", self._heartbeat.check_clock, None)
        self._side.check_files(self._writer.segments_closed)
        self._guard.attempt("disk budget", self._disk_budget.check, None)
        self._documents.restore_job()

    def _record_environment(self, attempt: Attempt) -> None:
        is_launched = bool(attempt.run_id)  # an attached process has its own environment
        variables = environment() if is_launched else variables_of(attempt.process_pid)
        secret = variables.keys() & self._settings.actions.secret_variables
        variables = {**variables, **dict.fromkeys(secret, MASK)}
        surroundings = self._guard.call(
            "environment",
            lambda: find_environment(attempt.command, Path(attempt.folder), variables),
            None,
        )
        if surroundings is not None:
            self._documents.write("surroundings", surroundings)

    def _total_cpu_seconds(self) -> float:
        return self._cpu_seconds() + self._side.cpu_seconds

    def _report_rules_failure(self, reason: str) -> None:
        self._notice(NoticeKind.SWITCHED_OFF, "rules", reason)
        if self._over.is_set():
            now_ns = self._clock.now_ns()
            notice = Notice(NoticeKind.SWITCHED_OFF, "rules", reason, now_ns, now_ns)
            self._side.late_failures.append(notice)
            call_within(_LAST_HEARTBEAT_SECONDS, "rules", self._writer.record_losses, False)

    def _notice(self, kind: NoticeKind, name: str, reason: str | BaseException) -> None:
        text = error_text(reason) if isinstance(reason, BaseException) else reason
        self._writer.notice(kind, name, text)


def _complete(notice: Notice, now_ns: int) -> Notice:
    """Add explanation and time to the notice of a process without a hook: it sends only errors."""
    if notice.kind is not NoticeKind.HOOK_NOT_LOADED:
        return notice
    error = mask_text(" ".join(notice.reason.split())).rstrip(".")
    return replace(notice, reason=f"{HOOK_FAILED}: {error}", start_ns=now_ns, end_ns=now_ns)


def _ignore(_request: Request) -> None:
    """Workers that share the launcher's folder read the request themselves."""
