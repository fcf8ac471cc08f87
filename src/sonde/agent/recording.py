"""Everything that goes on beside a job: sampling, signs of life, requests, sealing.

Shared by the launcher, which started the job's process, and by `attach`, which found it running.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.agent.decoding import Decoder, decoding_command
from sonde.agent.disk_budget import DiskBudget
from sonde.agent.environment import find_surroundings, variables_of
from sonde.agent.outcome import Outcome
from sonde.agent.registration import Registration
from sonde.agent.relay import Relay
from sonde.agent.reporting import Reporter, reporting_command
from sonde.agent.rules_process import Watching, watching_command
from sonde.agent.sampler import Sampler, open_collectors
from sonde.agent.sealer import Sealer, sealing_command
from sonde.agent.system import Machine
from sonde.bounded_calls import within
from sonde.clock import SystemClock, process_cpu_seconds
from sonde.errors import UsageError
from sonde.guard import Guard, error_text
from sonde.masking import MASK
from sonde.records.job import Attempt, Exit, Heartbeat, JobInfo, Overhead
from sonde.records.notice import Notice, NoticeKind
from sonde.records.request import Request, RequestKind
from sonde.settings import RunSettings, environment, parse_interval
from sonde.store import layout
from sonde.store.closing import write_closing
from sonde.store.control import LAST_STEP, Inbox
from sonde.store.facts import encode_facts
from sonde.store.reserve import release_reserve, take_reserve
from sonde.store.writer import SEGMENT_SECONDS, Writer

if TYPE_CHECKING:
    from sonde.records.loss_report import WorkerLoss

_HEARTBEAT_SECONDS = 5.0
_FIRST_BEAT_SECONDS = 1.0
_BEGIN_SECONDS = 0.5
_LAST_BEAT_SECONDS = 0.5  # one that is given up half-written would be of no use
END_SECONDS = 10.0  # all that the end of a job may wait for
_ACTIONS_SECONDS = 30.0  # a mail about a finding at the very end is worth waiting for
_CLOCK_JUMP_SECONDS = 1.0


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
        self._place = registration
        self._settings = settings
        self._clock = clock
        self._on_stop = on_stop
        self._relay = relay
        # to workers elsewhere
        self.hand_on: Callable[[Request], None] = relay.hand_on if relay else lambda _request: None
        self.worker_losses: Callable[[], Sequence[WorkerLoss]] = tuple  # reported by the end
        self._cpu_seconds = cpu_seconds
        self._backend = registration.backend
        self._sink = relay.source if relay else registration.backend  # where everything is written
        self._guard = Guard(self._on_failure)
        self._writer = Writer(self._sink, layout.node_folder(registration.node), clock)
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._inbox: Inbox | None = None
        self._sampler: Sampler | None = None
        self._attempt: Attempt | None = None
        uri, node = self._backend.uri, registration.node
        self._sealer = Sealer(sealing_command(uri, node, settings.disk_bytes), clock)
        self._decoder = Decoder(self._backend, decoding_command(uri, node), clock)
        self._watching = self._watcher()
        is_wanted = settings.report_at_end
        self._reporter = Reporter(reporting_command(uri), clock, is_wanted=is_wanted)
        self._beside = (self._sealer, self._decoder, self._watching)
        self._disk_budget = self._disk_keeper()
        self._reserve = layout.reserve_key(registration.node, registration.number)
        self._is_exit_recorded = False
        self._jump_seconds = 0.0
        self._started_seconds = clock.seconds()

    def _disk_keeper(self) -> DiskBudget:
        return DiskBudget(
            self._backend,
            self._clock,
            self._settings.disk_bytes,
            lambda what, reason: self._writer.notice(NoticeKind.CHANGED, what, reason),
        )

    def _watcher(self) -> Watching:
        command = watching_command(self._place, self._settings)

        def say(reason: str) -> None:
            self._writer.notice(NoticeKind.SWITCHED_OFF, "rules", reason)

        watching = Watching(self._place, command, self._clock, say)
        if self._settings.asked.is_off or not self._settings.rules.live:
            watching.switch_off()
        return watching

    def begin(self, start: Callable[[], None]) -> None:
        """Starts in a thread of its own."""

        def guarded() -> None:
            self._guard.call("the recording", start, None)

        try:
            thread = self._start_thread("begin", guarded)
        except RuntimeError:  # no more threads can be had: what needs none is recorded
            guarded()
            return
        # usually it takes milliseconds, and a command that suspends us at once is recorded then
        thread.join(_BEGIN_SECONDS)

    def _start_thread(self, name: str, target: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"sonde-{name}", daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def start(self, attempt: Attempt, collector_names: tuple[str, ...] | None = None) -> None:
        """Begins to record; a failure here leaves the job alone."""
        self._attempt = attempt
        if self._relay is not None:  # in the spool at once; the store hears of it below
            self._document("start", attempt)
        # before the job can be seen to run: a request made from then on is a new one
        self._inbox = self._guard.call(
            "requests", lambda: Inbox(self._backend, self._place.node), None
        )
        if self._relay is not None and self._over.is_set():  # a slow store, a short command
            return
        self._document("start", attempt)
        self._send_now()
        self._guard.attempt("the reserve", lambda: take_reserve(self._backend, self._reserve), None)
        machine = Machine(
            job_pid=attempt.process_pid,
            job_mark=f"SONDE_RUN_ID={attempt.run_id}" if attempt.run_id else "",
            paths=(Path(attempt.folder), *self._paths()),
        )
        collectors, missing = open_collectors(machine, collector_names)
        for name, absence in missing.items():
            if absence.is_failure:
                what = f"collector {name}"
                self._writer.notice(NoticeKind.SWITCHED_OFF, what, absence.reason)
        self._sampler = Sampler(
            collectors,
            self._writer,
            self._clock,
            self._settings.interval_seconds,
            self._settings.overhead_percent,
            self._cpu_seconds,
        )
        self._writer.outbox.start()
        self._sampler.start(self._sink.flush_seconds)
        # asking git can take seconds, and neither a request nor a sign of life may wait for it
        self._start_thread("keeper", self._keep)
        self._start_thread("surroundings", self._look_around)

    def leave_out(self, what: str, reason: str) -> None:
        """Says that something is not collected."""
        self._writer.notice(NoticeKind.NOT_COLLECTED, what, reason)

    def finish(self, exit_: Exit) -> Outcome:
        """Ends the recording, within ten seconds whatever the store and the collectors do."""
        self._over.set()
        deadline = self._clock.seconds() + END_SECONDS
        # most of it for the last flush: a connection that hangs takes 7 s to be given up
        threads_due, flush_due = deadline - 0.85 * END_SECONDS, deadline - 0.15 * END_SECONDS
        for thread in self._threads:
            thread.join(self._left(threads_due))
        self._stop_sampler(self._left(threads_due))
        within(self._left(threads_due), "disk budget", self._disk_budget.keep_now, None)
        lost: list[Notice] = []
        self._guard.attempt(
            "the last flush",
            lambda: lost.extend(self._writer.close(self._left(flush_due))),
            None,
        )
        self._guard.attempt("losses of workers", lambda: self._take_losses(lost), None)
        within(self._left(deadline), "end", lambda: self._write_end(exit_), None)
        self._is_exit_recorded = self._is_exit_recorded and self._deliver(deadline)
        self._finish_beside(exit_, deadline)
        is_long = self._clock.seconds() - self._started_seconds >= SEGMENT_SECONDS
        if is_long and self._is_exit_recorded:  # a short job is small, and read as quickly
            left = self._left(deadline)
            self._guard.attempt("sealing", lambda: self._sealer.seal_all(left), None)
        if self._is_exit_recorded and any(one.cpu_seconds for one in self._beside):
            # now with what all of that cost
            left = max(self._left(deadline), _LAST_BEAT_SECONDS)
            within(left, "heartbeat", self._write_heartbeat, None)
        return Outcome(
            tuple(lost),
            self._overhead(),
            self._is_exit_recorded,
            is_reported=self._reporter.is_written,
            no_report=self._reporter.problem,
        )

    def _finish_beside(self, exit_: Exit, deadline: float) -> None:
        """Lets the processes beside the job finish: decoding, rules, the report."""
        if not self._is_exit_recorded:
            self._guard.attempt("rules", self._watching.switch_off, None)
            return
        within(self._left(deadline), "list of files", lambda: self._write_closing(exit_), None)
        left = self._left(deadline)
        self._guard.attempt("decoding", lambda: self._decoder.finish(left), None)
        left = self._left(deadline)
        judging = max(left, _ACTIONS_SECONDS) if self._settings.has_actions else left
        self._guard.attempt("rules", lambda: self._watching.finish(judging), None)
        left = self._left(deadline)
        self._guard.attempt("the report", lambda: self._reporter.write(left), None)

    def _stop_sampler(self, seconds: float) -> None:
        sampler = self._sampler
        if sampler is not None:
            within(seconds, "last tick", lambda: sampler.stop(seconds), None)

    def _take_losses(self, lost: list[Notice]) -> None:
        """Adds what workers have lost, and records what they could not record themselves."""
        for loss in self.worker_losses():
            lost.insert(0, loss.notice)
            if not loss.is_recorded:
                self._writer.report_lost(loss.notice)

    def _left(self, deadline: float) -> float:
        return max(0.0, deadline - self._clock.seconds())

    def _keep(self) -> None:
        """The keeper's thread: nothing it does may wait for a tick, and no tick waits for it."""
        beat_due = 0.0
        inbox = self._inbox
        while True:
            if inbox is not None:
                self._guard.attempt("requests", lambda: self._answer(inbox), None)
            if self._clock.seconds() >= beat_due:
                # the second one soon, so that the end of a short job that is lost is nearly known
                pause = self._beat_seconds() if beat_due else _FIRST_BEAT_SECONDS
                beat_due = self._clock.seconds() + pause
                self._beat()
            self._guard.attempt("rules", self._watching.look, None)
            if self._clock.wait(self._over, self._backend.poll_seconds):
                return

    def _look_around(self) -> None:
        attempt = self._attempt
        assert attempt is not None
        is_ours = bool(attempt.run_id)  # a process that was there before us has its own variables
        variables = environment() if is_ours else variables_of(attempt.process_pid)
        secret = variables.keys() & self._settings.actions.secret_variables
        variables = {**variables, **dict.fromkeys(secret, MASK)}
        surroundings = self._guard.call(
            "surroundings",
            lambda: find_surroundings(attempt.command, Path(attempt.folder), variables),
            None,
        )
        if surroundings is not None:
            self._document("surroundings", surroundings)

    def _beat(self) -> None:
        self._write_heartbeat()
        self._guard.attempt("the clock", self._watch_clock, None)
        self._guard.attempt(
            "sealing", lambda: self._sealer.seal(self._writer.segments_closed), None
        )
        self._guard.attempt("decoding", self._decoder.look, None)
        self._guard.attempt("the disk budget", self._disk_budget.keep, None)
        self._restore_facts()

    def _beat_seconds(self) -> float:
        return max(_HEARTBEAT_SECONDS, self._backend.flush_seconds)

    def _answer(self, inbox: Inbox) -> None:
        for request in inbox.new_requests():
            if request.kind.is_for_workers or LAST_STEP in request.arguments:
                self.hand_on(request)
            if request.kind.is_for_workers:
                continue
            try:
                message, is_done = self._obey(request), True
            except UsageError as error:
                message, is_done = str(error), False
            inbox.reply(request, self._clock, is_done=is_done, message=message)

    def _obey(self, request: Request) -> str:
        if request.kind is RequestKind.STOP:
            return self._on_stop(request)
        assert self._sampler is not None
        said = []
        for name, value in request.arguments.items():
            if name == "interval":
                self._sampler.set_interval(parse_interval(value))
            elif name == "monitoring" and value in ("on", "off"):
                self._sampler.is_monitoring = value == "on"
            else:
                raise UsageError(
                    f"Cannot set {name}={value}. Known: interval=500ms, monitoring=on|off"
                )
            said.append(f"{name} is {value}")
            self._writer.notice(NoticeKind.CHANGED, name, f"set to {value} on request")
        self._write_heartbeat()  # readers see the change at once
        return ", ".join(said)

    def _write_end(self, exit_: Exit) -> None:
        self._guard.attempt(
            "the reserve", lambda: release_reserve(self._backend, self._reserve), None
        )
        if self._relay is None:
            self._restore_facts()
        self._is_exit_recorded = self._document("exit", exit_)
        if self._place.is_creator:
            self._put(layout.EXIT, exit_)
        self._write_heartbeat()
        self._guard.attempt("what was lost", self._writer.tell_lost, default=False)

    def _deliver(self, deadline: float) -> bool:
        """Whether what was written has reached the store."""
        return self._relay is None or self._relay.deliver(self._left(deadline))

    def _send_now(self) -> None:
        if self._relay is not None:
            self._relay.wake()

    def _write_closing(self, exit_: Exit) -> None:
        if self._attempt is not None:
            is_creator, now_ns = self._place.is_creator, self._clock.now_ns()
            write_closing(self._backend, self._attempt, exit_, now_ns, with_workers=is_creator)

    def _write_heartbeat(self) -> None:
        sampler = self._sampler
        heartbeat = Heartbeat(
            time_ns=self._clock.now_ns(),
            wall_ns=self._clock.wall_ns(),
            every_seconds=self._beat_seconds(),
            interval_seconds=sampler.interval_seconds if sampler else None,
            is_monitoring=sampler.is_monitoring if sampler else None,
            overhead=self._overhead(),
        )
        self._document("heartbeat", heartbeat)

    def _restore_facts(self) -> None:
        """If somebody removed the job's folder while it ran, what follows is a job all the same."""
        if self._guard.attempt("job.json", lambda: self._backend.exists(layout.JOB), True):
            return
        info = JobInfo(self._place.job, self._clock.now_ns(), self._place.node)
        self._put(layout.JOB, info)
        if self._attempt is not None:
            self._document("start", self._attempt)
            start_ns, now_ns = self._attempt.start_ns, self._clock.now_ns()
            reason = "the job's folder was removed while it ran; it has vanished"
            self._writer.report_lost(
                Notice(NoticeKind.LOST, "everything recorded before", reason, start_ns, now_ns)
            )

    def _document(self, what: str, record: object) -> bool:
        return self._put(layout.attempt_key(self._place.node, self._place.number, what), record)

    def _put(self, key: str, record: object) -> bool:
        """Writes a document; whether that worked."""
        content = encode_facts(record, key)

        def write() -> bool:
            self._sink.write(key, content)
            return True

        return self._guard.attempt(key, write, default=False)

    def _watch_clock(self) -> None:
        jump = self._clock.jump_seconds()
        if abs(jump - self._jump_seconds) >= _CLOCK_JUMP_SECONDS:
            moved = jump - self._jump_seconds
            self._jump_seconds = jump
            self._writer.notice(
                NoticeKind.CLOCK_JUMPED,
                "wall clock",
                f"it was moved by {moved:+.1f} s; recorded times go on as if it had not been",
            )

    def _overhead(self) -> Overhead:
        return Overhead(
            cpu_seconds=self._cpu_seconds() + sum(one.cpu_seconds for one in self._beside),
            bytes_written=self._writer.outbox.bytes_written,
            wall_seconds=self._clock.seconds() - self._started_seconds,
        )

    def _paths(self) -> tuple[Path, ...]:
        uri = self._backend.uri
        return () if "://" in uri else (Path(uri),)

    def _on_failure(self, part: str, error: BaseException) -> None:
        reason = error_text(error)
        self._writer.notice(NoticeKind.SWITCHED_OFF, part, reason)
