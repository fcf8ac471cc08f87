"""Facts about a job: its attempts, state, exit and notices."""

from dataclasses import dataclass, field
from functools import cached_property

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, StoreError
from sonde.read.coverage import Markers, read_markers
from sonde.read.documents import read_document
from sonde.read.opening import read_guarded
from sonde.read.workers import (
    WorkerLife,
    list_ranks,
    read_lives,
    read_notices,
    read_worker_notices,
)
from sonde.records.job import (
    Attempt,
    Exit,
    ExitReason,
    Heartbeat,
    JobInfo,
    JobState,
    Launcher,
    Surroundings,
)
from sonde.records.notice import INSIDE, Notice, NoticeKind
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.closing import CLOSING, Closing
from sonde.store.damage import DAMAGED, MISSING, DamageLedger
from sonde.store.facts import Record
from sonde.store.format import NOTICES
from sonde.store.places import holds_job, job_uri
from sonde.store.presence import is_present
from sonde.store.reader import FolderReader
from sonde.store.report_cost import report_cost_since

_STARTING_SECONDS = 30.0

# the state of a job is the first of these that any node has
_ORDER = (
    JobState.RUNNING,
    JobState.FAILED,
    JobState.STOPPED,
    JobState.LOST,
    JobState.ENDED,
    JobState.COMPLETED,
)


@dataclass(frozen=True, slots=True)
class NodeAttempt:
    """One attempt on one node, and its state."""

    attempt: Attempt
    state: JobState
    exit: Exit | None
    heartbeat: Heartbeat | None
    surroundings: Surroundings | None
    markers: Markers = field(default_factory=lambda: Markers({}, ()))
    unsent: str = ""  # the node's folder with data that has not reached the store

    def end_ns(self, now_ns: int) -> int:
        """When it ended; the last heartbeat if it is lost, now if it is running."""
        if not self.state.is_over:
            return now_ns
        if self.exit is not None:
            return self.exit.end_ns
        return self.heartbeat.time_ns if self.heartbeat else self.attempt.start_ns


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A snapshot of a job."""

    name: str
    info: JobInfo | None
    state: JobState
    attempts: tuple[NodeAttempt, ...]
    workers: tuple[str, ...]
    lives: tuple[WorkerLife, ...]
    notices: tuple[Notice, ...]
    ledger: DamageLedger = field(compare=False)
    report_seconds: float = 0.0  # CPU time of reports that no heartbeat includes

    @property
    def damages(self) -> tuple[str, ...]:
        """Missing and damaged files found so far."""
        return tuple(self.ledger.texts)

    def check_readable(self) -> "JobFacts":
        """Raise DamagedError if the job document is damaged, or missing with all attempts."""
        if self.info is not None:
            return self
        damages = "; ".join(self.damages)
        if not self.attempts:
            raise DamagedError(damages or f"Job {self.name!r} is empty")
        if any(each.key == layout.JOB and each.reason == DAMAGED for each in self.ledger.damages):
            raise DamagedError(f"{damages}. `sonde status` shows the rest")
        return self

    @property
    def latest(self) -> tuple[NodeAttempt, ...]:
        """The last attempt on each of its nodes, and any other attempt still running."""
        return _latest(self.attempts)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes, by name."""
        return tuple(sorted({node.attempt.node for node in self.attempts}))

    @property
    def start_ns(self) -> int | None:
        """When the first attempt started."""
        starts = [node.attempt.start_ns for node in self.attempts]
        created = [] if self.info is None else [self.info.created_ns]
        return min(starts or created, default=None)

    @property
    def end_ns(self) -> int | None:
        """When the last attempt ended; the last heartbeat if it is lost, None if it is running."""
        if not self.state.is_over:
            return None
        return max((attempt.end_ns(0) for attempt in self.latest), default=self.start_ns)

    @property
    def decisive(self) -> NodeAttempt | None:
        """The attempt that determines the job's state: the first to end with it."""
        candidates = [attempt for attempt in self.latest if attempt.state is self.state]
        candidates.sort(key=lambda attempt: attempt.exit.end_ns if attempt.exit else 0)
        return candidates[0] if candidates else None

    def seconds(self, now_ns: int) -> float | None:
        """The duration so far, without the time between attempts."""
        if self.start_ns is None:
            return None
        if not self.attempts:
            return ((self.end_ns or now_ns) - self.start_ns) / NANOSECONDS
        numbers = {attempt.attempt.number for attempt in self.attempts}
        return sum(self._attempt_ns(number, now_ns) for number in numbers) / NANOSECONDS

    def _attempt_ns(self, number: int, now_ns: int) -> int:
        """The duration of one attempt, from its first node's start to its last node's end."""
        nodes = [node for node in self.attempts if node.attempt.number == number]
        return max(node.end_ns(now_ns) for node in nodes) - min(
            node.attempt.start_ns for node in nodes
        )


def list_job_names(store: str) -> list[str]:
    """The names of all jobs in a store."""
    backend = open_backend(store)
    return [
        name
        for name in backend.folders("")
        if not name.startswith(".") and _is_job(open_backend(job_uri(store, name)))
    ]


def has_begun(backend: Backend, facts: JobFacts) -> bool:
    """Whether a job has more than its first document.

    If the store fails right after that document, the command runs without being recorded.
    """
    if facts.info is None or facts.attempts or facts.state is not JobState.LOST:
        return True
    return any(entry.key != layout.JOB for entry in backend.entries(""))


def _is_job(backend: Backend) -> bool:
    try:
        return holds_job(backend)
    except StoreError:  # opening it reports the reason
        return True


def read_job(backend: Backend, now_ns: int) -> JobFacts:
    """Read the current facts about a job; damaged documents are reported to its ledger."""
    return read_guarded(backend, lambda: _read_job(backend, now_ns))


def _read_job(backend: Backend, now_ns: int) -> JobFacts:
    info = _info(backend)
    attempts = tuple(
        attempt
        for node in backend.folders(layout.NODES)
        for attempt in _node_attempts(backend, node, now_ns)
    )
    ranks = list_ranks(backend)
    lives = read_lives(backend, ranks)
    attempts += _missing_attempts(backend, info, attempts, lives)
    notices: list[Notice] = []
    for node in backend.folders(layout.NODES):
        reader = FolderReader(backend, layout.node_folder(node), NOTICES)
        reader.refresh()
        notices += read_notices(reader)
    notices += read_worker_notices(backend, ranks)
    notices += [notice for node_attempt in attempts for notice in _hook_failures(node_attempt)]
    return JobFacts(
        name=backend.uri.rstrip("/").rpartition("/")[2],
        info=info,
        state=_job_state(attempts, info, now_ns),
        attempts=attempts,
        workers=ranks,
        lives=lives,
        notices=tuple(notices),
        ledger=backend.ledger,
        report_seconds=report_cost_since(backend, _start_ns(_latest(attempts))),
    )


def _info(backend: Backend) -> JobInfo | None:
    info = read_document(JobInfo, backend, layout.JOB, [])
    if info is None and not backend.exists(layout.JOB):
        _report_missing(backend, layout.JOB)
    return info


def _node_attempts(backend: Backend, node: str, now_ns: int) -> list[NodeAttempt]:
    attempts = []
    for name in backend.folders(layout.node_folder(node)):
        number = name.removeprefix("attempt-")
        if number != name and layout.is_number(number):
            attempts.append(_node_attempt(backend, (node, int(number)), now_ns))
    return [attempt for attempt in attempts if attempt is not None]


def _node_attempt(
    backend: Backend, node_and_number: tuple[str, int], now_ns: int
) -> NodeAttempt | None:
    documents = _Documents(backend, node_and_number)
    exit_ = documents.read(Exit, "exit")
    heartbeat = documents.read(Heartbeat, "heartbeat")
    attempt = documents.read(Attempt, "start")
    if attempt is not None and (attempt.node, attempt.number) != node_and_number:
        documents.report("start", "is damaged: it belongs to another node")
        attempt = None
    if attempt is None:
        attempt = documents.closing.attempt if documents.closing else None
        if exit_ or heartbeat or attempt:
            documents.report_missing("start")
        if attempt is None:  # it never started
            return None
    surroundings = documents.read(Surroundings, "surroundings")
    if exit_ is None and is_present(backend, attempt, now_ns):
        state = JobState.RUNNING
    elif exit_ is None and documents.has_ended:
        exit_ = documents.repeated_exit(attempt)
        documents.report_missing("exit")
        state = exit_.state
    else:
        state = JobState.LOST if exit_ is None else exit_.state
    markers = read_markers(backend, *node_and_number)
    is_lost = state is JobState.LOST and attempt.spool
    unsent = _unsent(backend, attempt) if is_lost else ""
    return NodeAttempt(attempt, state, exit_, heartbeat, surroundings, markers, unsent)


def _missing_attempts(
    backend: Backend,
    info: JobInfo | None,
    attempts: tuple[NodeAttempt, ...],
    lives: tuple[WorkerLife, ...],
) -> tuple[NodeAttempt, ...]:
    """Rebuild the last attempt from the job's exit document if the attempt's files are missing.

    Reports every missing node of a job that is over.
    """
    if info is None or any(not node.state.is_over for node in attempts):
        return ()
    exit_ = read_document(Exit, backend, layout.EXIT, [])
    if exit_ is None:
        return ()
    nodes = {node.attempt.node for node in attempts}
    for node in sorted({info.created_by, *(life.info.node for life in lives)} - nodes):
        _report_missing(backend, layout.node_folder(node))
    numbers = [node.attempt.number for node in attempts if node.attempt.node == info.created_by]
    is_recorded = any(node.exit is None or node.exit.end_ns >= exit_.end_ns for node in attempts)
    if numbers and is_recorded:
        return ()
    number = max([1, *(life.info.attempt for life in lives), *(last + 1 for last in numbers)])
    if numbers:
        key = layout.attempt_key(info.created_by, number, "start")
        _report_missing(backend, key.rpartition("/")[0])
    starts = [life.info.start_ns for life in lives if life.info.attempt == number]
    start_ns = min([*starts, exit_.end_ns]) if number > 1 else info.created_ns
    attempt = Attempt(
        info.created_by, number, start_ns, (), "", 0, Launcher(0, "", ""), interval_seconds=0.0
    )
    return (NodeAttempt(attempt, exit_.state, exit_, None, None),)


def _hook_failures(attempt: NodeAttempt) -> list[Notice]:
    """Notices of processes in which the hook failed to load."""
    start_ns = attempt.attempt.start_ns
    return [
        Notice(NoticeKind.HOOK_NOT_LOADED, INSIDE, reason, start_ns, start_ns)
        for reason in attempt.markers.hook_failures
    ]


def _report_missing(backend: Backend, key: str) -> None:
    backend.ledger.report(key, f"{key} is missing", reason=MISSING)


def _unsent(backend: Backend, attempt: Attempt) -> str:
    """The folder with the unsent data of an attempt; empty if everything was sent."""
    is_sent = backend.exists(layout.attempt_key(attempt.node, attempt.number, layout.SENT))
    return "" if is_sent else attempt.spool


class _Documents:
    """The documents of one attempt; some repeat the content of others."""

    def __init__(self, backend: Backend, node_and_number: tuple[str, int]) -> None:
        self._backend = backend
        self._node_and_number = node_and_number

    def read(self, kind: type[Record], what: str) -> Record | None:
        """Read one document; None if it is missing or damaged."""
        return read_document(kind, self._backend, self._key(what), [])

    @cached_property
    def closing(self) -> Closing | None:
        """The closing document, which repeats start and exit."""
        return self.read(Closing, CLOSING)

    @property
    def has_ended(self) -> bool:
        """Whether the attempt has ended, even if its exit cannot be read."""
        return self.closing is not None or self._backend.exists(self._key("exit"))

    def repeated_exit(self, attempt: Attempt) -> Exit:
        """The exit of the attempt, from another document that repeats it."""
        if self.closing is not None:
            return self.closing.exit
        of_job = read_document(Exit, self._backend, layout.EXIT, [])
        if of_job is not None and of_job.end_ns >= attempt.start_ns:
            return of_job
        message = "exit unknown: the file that records it is damaged"
        return Exit(JobState.ENDED, ExitReason.EXIT, attempt.start_ns, message=message)

    def report(self, what: str, text: str) -> None:
        """Report damage to one document."""
        self._backend.ledger.report(self._key(what), f"{self._key(what)} {text}")

    def report_missing(self, what: str) -> None:
        """Report a document that is missing."""
        key = self._key(what)
        if not self._backend.exists(key):
            _report_missing(self._backend, key)

    def _key(self, what: str) -> str:
        return layout.attempt_key(*self._node_and_number, what)


def _latest(attempts: tuple[NodeAttempt, ...]) -> tuple[NodeAttempt, ...]:
    last = max((attempt.attempt.number for attempt in attempts), default=0)
    return tuple(
        attempt
        for attempt in attempts
        if attempt.attempt.number == last or attempt.state is JobState.RUNNING
    )


def _start_ns(attempts: tuple[NodeAttempt, ...]) -> int:
    return min((attempt.attempt.start_ns for attempt in attempts), default=0)


def _job_state(attempts: tuple[NodeAttempt, ...], info: JobInfo | None, now_ns: int) -> JobState:
    states = {attempt.state for attempt in _latest(attempts)}
    if not states:
        age_ns = now_ns - info.created_ns if info else _STARTING_SECONDS * NANOSECONDS
        is_young = age_ns < _STARTING_SECONDS * NANOSECONDS
        return JobState.STARTING if is_young else JobState.LOST
    return next(state for state in _ORDER if state in states)
