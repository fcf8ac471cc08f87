"""What is known about a job: its attempts, its state, how it ended, what was lost."""

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
from sonde.store.damage import MISSING, DamageLedger
from sonde.store.facts import Record
from sonde.store.format import NOTICES
from sonde.store.places import holds_job, job_uri
from sonde.store.presence import is_present
from sonde.store.reader import FolderReader
from sonde.store.report_cost import report_cost_since

_STARTING_SECONDS = 30.0

# the state of a job is the worst of its nodes, those that still run before those that do not
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
    """One attempt on one node, and where it stands."""

    attempt: Attempt
    state: JobState
    exit: Exit | None
    heartbeat: Heartbeat | None
    surroundings: Surroundings | None
    markers: Markers = field(default_factory=lambda: Markers({}, ()))
    unsent: str = ""  # the folder of its node with what has not reached the store

    def end_ns(self, now_ns: int) -> int:
        """When it ended, its last sign of life where it is lost, now where it runs."""
        if not self.state.is_over:
            return now_ns
        if self.exit is not None:
            return self.exit.end_ns
        return self.heartbeat.time_ns if self.heartbeat else self.attempt.start_ns


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job at this moment."""

    name: str
    info: JobInfo | None
    state: JobState
    attempts: tuple[NodeAttempt, ...]
    workers: tuple[str, ...]
    lives: tuple[WorkerLife, ...]
    notices: tuple[Notice, ...]
    ledger: DamageLedger = field(compare=False)
    report_seconds: float = 0.0  # of CPU, for reports that no sign of life counts

    @property
    def damages(self) -> tuple[str, ...]:
        """What readers of this job have found missing or damaged until now."""
        return tuple(self.ledger.texts)

    def refuse_nothing(self) -> "JobFacts":
        """Raises where nothing is known of a job: neither who made it nor that it ever began."""
        if self.info is None and not self.attempts:
            raise DamagedError("; ".join(self.damages) or f"Job {self.name!r} holds nothing")
        return self

    @property
    def latest(self) -> tuple[NodeAttempt, ...]:
        """The last attempt, on each node that took part in it; and what else still runs."""
        return _latest(self.attempts)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes, by name."""
        return tuple(sorted({one.attempt.node for one in self.attempts}))

    @property
    def start_ns(self) -> int | None:
        """When the first attempt began."""
        starts = [one.attempt.start_ns for one in self.attempts]
        created = [] if self.info is None else [self.info.created_ns]
        return min(starts or created, default=None)

    @property
    def end_ns(self) -> int | None:
        """When the last attempt ended; the last sign of life where it is lost, None if it runs."""
        if not self.state.is_over:
            return None
        return max((one.end_ns(0) for one in self.latest), default=self.start_ns)

    @property
    def decisive(self) -> NodeAttempt | None:
        """The attempt that made the job's state what it is: the first to end so."""
        candidates = [one for one in self.latest if one.state is self.state]
        candidates.sort(key=lambda one: one.exit.end_ns if one.exit else 0)
        return candidates[0] if candidates else None

    def seconds(self, now_ns: int) -> float | None:
        """How long it took, or has taken so far; the time between attempts left out."""
        if self.start_ns is None:
            return None
        if not self.attempts:
            return ((self.end_ns or now_ns) - self.start_ns) / NANOSECONDS
        numbers = {one.attempt.number for one in self.attempts}
        return sum(self._attempt_ns(number, now_ns) for number in numbers) / NANOSECONDS

    def _attempt_ns(self, number: int, now_ns: int) -> int:
        """How long one attempt took, from its first node's start to its last one's end."""
        nodes = [one for one in self.attempts if one.attempt.number == number]
        return max(one.end_ns(now_ns) for one in nodes) - min(one.attempt.start_ns for one in nodes)


def list_job_names(store: str) -> list[str]:
    """The names of all jobs in a store."""
    backend = open_backend(store)
    return [
        name
        for name in backend.folders("")
        if not name.startswith(".") and _is_job(open_backend(job_uri(store, name)))
    ]


def has_begun(backend: Backend, facts: JobFacts) -> bool:
    """Whether there is more of a job than the document that its launcher writes first.

    A store that fails at that moment may keep it, and the command then runs without a record.
    """
    if facts.info is None or facts.attempts or facts.state is not JobState.LOST:
        return True
    return any(entry.key != layout.JOB for entry in backend.entries(""))


def _is_job(backend: Backend) -> bool:
    try:
        return holds_job(backend)
    except StoreError:  # whoever opens it learns why
        return True


def read_job(backend: Backend, now_ns: int) -> JobFacts:
    """Reads what is known about a job now; what is damaged is left out, and in its ledger."""
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
    notices += [notice for one in attempts for notice in _hook_failures(one)]
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
    found = []
    for name in backend.folders(layout.node_folder(node)):
        number = name.removeprefix("attempt-")
        if number != name and layout.is_number(number):
            found.append(_node_attempt(backend, (node, int(number)), now_ns))
    return [one for one in found if one is not None]


def _node_attempt(backend: Backend, place: tuple[str, int], now_ns: int) -> NodeAttempt | None:
    documents = _Documents(backend, place)
    exit_ = documents.read(Exit, "exit")
    heartbeat = documents.read(Heartbeat, "heartbeat")
    attempt = documents.read(Attempt, "start")
    if attempt is not None and (attempt.node, attempt.number) != place:
        documents.report("start", "is damaged: of another node")
        attempt = None
    if attempt is None:
        attempt = documents.closing.attempt if documents.closing else None
        if exit_ or heartbeat or attempt:
            documents.report_missing("start")
        if attempt is None:  # it never got so far
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
    markers = read_markers(backend, *place)
    is_lost = state is JobState.LOST and attempt.spool
    unsent = _unsent(backend, attempt) if is_lost else ""
    return NodeAttempt(attempt, state, exit_, heartbeat, surroundings, markers, unsent)


def _missing_attempts(
    backend: Backend,
    info: JobInfo | None,
    attempts: tuple[NodeAttempt, ...],
    lives: tuple[WorkerLife, ...],
) -> tuple[NodeAttempt, ...]:
    """The attempt that ended the job, from the job's own exit document, if its files are gone.

    Reports every missing node of a job that is over.
    """
    if info is None or any(not one.state.is_over for one in attempts):
        return ()
    exit_ = read_document(Exit, backend, layout.EXIT, [])
    if exit_ is None:
        return ()
    nodes = {one.attempt.node for one in attempts}
    for node in sorted({info.created_by, *(life.info.node for life in lives)} - nodes):
        _report_missing(backend, layout.node_folder(node))
    numbers = [one.attempt.number for one in attempts if one.attempt.node == info.created_by]
    is_recorded = any(one.exit is None or one.exit.end_ns >= exit_.end_ns for one in attempts)
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
    """Notices of processes whose inside was not recorded because the hook failed in them."""
    start_ns = attempt.attempt.start_ns
    return [
        Notice(NoticeKind.NOT_COLLECTED, INSIDE, reason, start_ns, start_ns)
        for reason in attempt.markers.hook_failures
    ]


def _report_missing(backend: Backend, key: str) -> None:
    backend.ledger.report(key, f"{key} is missing", reason=MISSING)


def _unsent(backend: Backend, attempt: Attempt) -> str:
    """Where the rest of an attempt lies, unless all of it has arrived."""
    is_sent = backend.exists(layout.attempt_key(attempt.node, attempt.number, layout.SENT))
    return "" if is_sent else attempt.spool


class _Documents:
    """The documents of one attempt; what one of them lost may stand in another."""

    def __init__(self, backend: Backend, place: tuple[str, int]) -> None:
        self._backend = backend
        self._place = place

    def read(self, kind: type[Record], what: str) -> Record | None:
        """One of them, if it can be read."""
        return read_document(kind, self._backend, self._key(what), [])

    @cached_property
    def closing(self) -> Closing | None:
        """The one that was written last, which repeats others."""
        return self.read(Closing, CLOSING)

    @property
    def has_ended(self) -> bool:
        """Whether the attempt has ended, whether or not it can be read how."""
        return self.closing is not None or self._backend.exists(self._key("exit"))

    def repeated_exit(self, attempt: Attempt) -> Exit:
        """How the attempt ended, from where that is said again."""
        if self.closing is not None:
            return self.closing.exit
        of_job = read_document(Exit, self._backend, layout.EXIT, [])
        if of_job is not None and of_job.end_ns >= attempt.start_ns:
            return of_job
        message = "how it ended is recorded in a file that is damaged"
        return Exit(JobState.ENDED, ExitReason.EXIT, attempt.start_ns, message=message)

    def report(self, what: str, text: str) -> None:
        """Reports a damage of one of them."""
        self._backend.ledger.report(self._key(what), f"{self._key(what)} {text}")

    def report_missing(self, what: str) -> None:
        """Reports that one of them is gone, if it is."""
        key = self._key(what)
        if not self._backend.exists(key):
            _report_missing(self._backend, key)

    def _key(self, what: str) -> str:
        return layout.attempt_key(*self._place, what)


def _latest(attempts: tuple[NodeAttempt, ...]) -> tuple[NodeAttempt, ...]:
    last = max((one.attempt.number for one in attempts), default=0)
    return tuple(
        one for one in attempts if one.attempt.number == last or one.state is JobState.RUNNING
    )


def _start_ns(attempts: tuple[NodeAttempt, ...]) -> int:
    return min((one.attempt.start_ns for one in attempts), default=0)


def _job_state(attempts: tuple[NodeAttempt, ...], info: JobInfo | None, now_ns: int) -> JobState:
    states = {one.state for one in _latest(attempts)}
    if not states:
        age_ns = now_ns - info.created_ns if info else _STARTING_SECONDS * NANOSECONDS
        is_young = age_ns < _STARTING_SECONDS * NANOSECONDS
        return JobState.STARTING if is_young else JobState.LOST
    return next(state for state in _ORDER if state in states)
