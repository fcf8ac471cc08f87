"""The worker's share of the job's store: its identity, writer, notices and documents."""

from collections.abc import Callable

from sonde.clock import Clock
from sonde.guard import Guard
from sonde.hook.attached_frameworks import AttachedFrameworks
from sonde.hook.identity import claim_worker, earlier_counts, facts_of
from sonde.hook.loss_report import RESERVED_SOCKET, send_losses, send_notice
from sonde.hook.pending_rows import Rows
from sonde.hook.store_retry import OpeningAttempts
from sonde.records.notice import Notice, NoticeKind
from sonde.records.worker import TensorIndex, TensorInfo, WorkerInfo
from sonde.settings import WorkerPlacement
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import encode_facts
from sonde.store.writer import Writer

_HEARTBEAT_SECONDS = 5.0
_WAITING_LIMIT_BYTES = 64 * 1024 * 1024


class WorkerStore:
    """Opens the store when training begins, and writes to it."""

    def __init__(self, worker: WorkerPlacement, clock: Clock, guard: Guard) -> None:
        self.worker = worker
        self._clock = clock
        self._guard = guard
        self.reset()

    def reset(self) -> None:
        """Return to the state before the store is opened."""
        self.info: WorkerInfo | None = None
        self.value_bytes = 0  # written to separate files: full tensors, traces
        self._attempts = OpeningAttempts(self.worker, self._clock)
        self._backend: Backend | None = None
        self._writer: Writer | None = None
        self._notices: set[tuple[str, str]] = set()
        self._early_notices: list[tuple[NoticeKind, str, str]] = []  # until there is a writer
        self._tensors: dict[str, TensorInfo] = {}
        self._tensors_written = 0
        self._heartbeat_due = 0.0

    def assign(self, worker: WorkerPlacement) -> None:
        """Use this job and worker from the next `open` on."""
        self.worker = worker

    @property
    def is_open(self) -> bool:
        """Whether there is a writer."""
        return self._writer is not None

    @property
    def writer(self) -> Writer:
        """The writer of all rows; available once the store is open."""
        assert self._writer is not None
        return self._writer

    @property
    def backend(self) -> Backend:
        """The job's store; available once it is open."""
        assert self._backend is not None
        return self._backend

    def may_attempt(self) -> bool:
        """Whether to try to open the store now; after a failure, retries are spaced out."""
        return self._attempts.is_due()

    def attempt(self, begin: Callable[[], None]) -> None:
        """Call `begin`, and schedule a retry if the store fails."""
        self._attempts.attempt(begin)

    def give_up(self, reason: str) -> None:
        """Stop trying to open the store."""
        self._attempts.give_up(reason)

    def open(self, frameworks: AttachedFrameworks) -> None:
        """Register the worker in the store and start its writer.

        Raises:
            StoreError: The store cannot be written.
        """
        assert self.worker.job_uri is not None
        self._guard.attempt("the socket for losses", RESERVED_SOCKET.open, None)
        self._backend = open_backend(self.worker.job_uri)
        self.info = claim_worker(
            self._backend,
            facts_of(
                self.worker,
                self._clock.now_ns(),
                framework=frameworks.name,
                versions=frameworks.versions,
                device=frameworks.find_device(),
                device_name=frameworks.find_device_name(),
            ),
        )
        folder = layout.worker_folder(self.info.rank)
        self._writer = Writer(self._backend, folder, self._clock, _WAITING_LIMIT_BYTES)
        for early_notice in self._early_notices:
            self._writer.notice(*early_notice)
        self._writer.outbox.start()

    def earlier_counts(self) -> dict[str, int]:
        """Steps that earlier starts of this worker finished, by mode."""
        assert self.info is not None
        return earlier_counts(self.backend, self.info)

    def report_early_losses(self) -> None:
        """Record what was lost before the store could be opened."""
        self._attempts.report_to(self.writer)

    def notice(self, kind: NoticeKind, what: str, reason: str) -> None:
        """Record a notice about the recording itself, once."""
        if (what, reason) not in self._notices:
            self._notices.add((what, reason))
            if self._writer is not None:
                self._writer.notice(kind, what, reason)
            else:
                self._early_notices.append((kind, what, reason))

    def report_unrecorded(self, what: str, reason: str) -> None:
        """Record that something was not recorded; the launcher prints it at the end."""
        self.notice(NoticeKind.NOT_COLLECTED, what, reason)
        now_ns = self._clock.now_ns()
        send_notice(
            self.worker.run_id, Notice(NoticeKind.NOT_COLLECTED, what, reason, now_ns, now_ns)
        )

    def register_tensor(self, info: TensorInfo) -> None:
        """Add a tensor to the index, or update its entry."""
        self._tensors[info.name] = info

    def has_tensor(self, name: str) -> bool:
        """Whether a tensor is in the index."""
        return name in self._tensors

    def add_value_bytes(self, size_bytes: int) -> None:
        """Count bytes written to a separate file."""
        self.value_bytes += size_bytes

    def flush(self, rows: Rows) -> None:
        """Write rows, and the tensor index if it has grown."""
        rows.write(self.writer)
        self.writer.flush()
        if len(self._tensors) != self._tensors_written:
            self._tensors_written = len(self._tensors)
            self.write_document("tensors", TensorIndex(tuple(self._tensors.values())))

    def is_heartbeat_due(self) -> bool:
        """Whether to write a heartbeat now; schedules the next one."""
        now = self._clock.seconds()
        if now < self._heartbeat_due:
            return False
        self._heartbeat_due = now + _HEARTBEAT_SECONDS
        return True

    def write_document(self, name: str, record: object) -> None:
        """Write one of the worker's documents; a failure is recorded and does not propagate."""
        assert self.info is not None
        info, backend = self.info, self.backend
        key = layout.worker_key(info.rank, info.attempt, info.restart, name)
        self._guard.attempt(name, lambda: backend.write(key, encode_facts(record, key)), None)

    def report_unfinished(self, count: int) -> None:
        """Record that work was dropped at the end of training."""
        now_ns = self._clock.now_ns()
        what, reason = "statistics and values", f"{count} not finished in time at the end"
        self.writer.report_lost(Notice(NoticeKind.LOST, what, reason, now_ns, now_ns))

    def close(self, timeout_seconds: float) -> None:
        """Write the remaining rows within the timeout, and report what could not be written."""
        lost = self.writer.close(timeout_seconds)
        if lost and self.info is not None:
            is_recorded = self.writer.record_losses()
            send_losses(self.worker.run_id, self.info.rank, lost, is_recorded=is_recorded)
