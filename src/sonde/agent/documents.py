"""Write the documents of an attempt: start, heartbeat, environment, exit and the list of files."""

from sonde.agent.registration import Registration
from sonde.clock import Clock
from sonde.guard import Guard
from sonde.records.job import Attempt, Exit, JobInfo
from sonde.records.notice import Notice, NoticeKind
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.closing import write_closing
from sonde.store.facts import encode_facts
from sonde.store.reserve import release_reserve, take_reserve
from sonde.store.writer import Writer


class AttemptDocuments:
    """The documents of one attempt on one node.

    Args:
        registration: The node's place in the job.
        sink: Where documents are written: the job's store, or the spool of a relay.
        writer: Records a notice if the job's folder was removed.
        clock: The time.
        guard: Reports documents that cannot be written.
    """

    def __init__(
        self,
        registration: Registration,
        sink: Backend,
        writer: Writer,
        clock: Clock,
        guard: Guard,
    ) -> None:
        self._registration = registration
        self._sink = sink
        self._writer = writer
        self._clock = clock
        self._guard = guard
        self._attempt: Attempt | None = None
        self.is_exit_recorded = False
        self.removal: Notice | None = None  # the last time that the job's folder was removed

    def write_start(self, attempt: Attempt) -> None:
        """Write the start of the attempt."""
        self._attempt = attempt
        self.write("start", attempt)

    def write_exit(self, exit_: Exit) -> None:
        """Write the exit of the attempt, and of the job if this node created it."""
        self.is_exit_recorded = self.write("exit", exit_)
        if self._registration.is_creator:
            self._put(layout.EXIT, exit_)

    def write(self, name: str, record: object) -> bool:
        """Write a document of the attempt; return whether that succeeded."""
        registration = self._registration
        return self._put(layout.attempt_key(registration.node, registration.number, name), record)

    def _put(self, key: str, record: object) -> bool:
        content = encode_facts(record, key)

        def write() -> bool:
            self._sink.write(key, content)
            return True

        return self._guard.attempt(key, write, default=False)

    def restore_job(self) -> None:
        """Recreate the job's document if its folder was removed, so that later data is readable."""
        backend = self._registration.backend
        if self._guard.attempt("job.json", lambda: backend.exists(layout.JOB), True):
            return
        now_ns = self._clock.now_ns()
        self._put(layout.JOB, JobInfo(self._registration.job, now_ns, self._registration.node))
        if self._attempt is not None:
            self.write("start", self._attempt)
            reason = "the job's folder was removed while the job was running"
            start_ns = self._attempt.start_ns
            self.removal = Notice(NoticeKind.LOST, "all earlier data", reason, start_ns, now_ns)
            self._writer.report_lost(self.removal)

    def write_file_list(self, exit_: Exit) -> None:
        """Write the list of the attempt's files."""
        if self._attempt is not None:
            registration, now_ns = self._registration, self._clock.now_ns()
            is_creator = registration.is_creator
            write_closing(
                registration.backend, self._attempt, exit_, now_ns, with_workers=is_creator
            )

    def take_reserve(self) -> None:
        """Reserve disk space, so that the exit can be recorded on a full disk."""
        key = self._reserve_key()
        backend = self._registration.backend
        self._guard.attempt("disk reserve", lambda: take_reserve(backend, key), None)

    def release_reserve(self) -> None:
        """Release the reserved disk space."""
        key = self._reserve_key()
        backend = self._registration.backend
        self._guard.attempt("disk reserve", lambda: release_reserve(backend, key), None)

    def _reserve_key(self) -> str:
        return layout.reserve_key(self._registration.node, self._registration.number)
