"""What is known about a job: its attempts, its state, how it ended, what was lost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonde.clock import NANOSECONDS
from sonde.read.documents import read_document
from sonde.read.seen import read_frameworks
from sonde.read.workers import (
    WorkerLife,
    list_ranks,
    read_lives,
    read_notices,
    read_worker_notices,
)
from sonde.records.job import Attempt, Exit, Heartbeat, JobInfo, JobState, Surroundings
from sonde.records.notice import Notice
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.format import NOTICES
from sonde.store.places import job_uri
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
    frameworks: Mapping[str, str] = field(default_factory=dict)  # imported, with their versions

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
    damages: tuple[str, ...]
    report_seconds: float = 0.0  # of CPU, for reports that no sign of life counts

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
        if not name.startswith(".") and open_backend(job_uri(store, name)).exists(layout.JOB)
    ]


def read_job(backend: Backend, now_ns: int) -> JobFacts:
    """Reads what is known about a job now; damaged documents are left out, and that is said."""
    damages: list[str] = []
    info = read_document(JobInfo, backend, layout.JOB, damages)
    attempts = tuple(
        attempt
        for node in backend.folders(layout.NODES)
        for attempt in _node_attempts(backend, node, now_ns, damages)
    )
    notices: list[Notice] = []
    for node in backend.folders(layout.NODES):
        reader = FolderReader(backend, layout.node_folder(node), NOTICES)
        reader.refresh()
        damages += reader.damages
        notices += read_notices(reader)
    ranks = list_ranks(backend)
    notices += read_worker_notices(backend, ranks, damages)
    return JobFacts(
        name=backend.uri.rstrip("/").rpartition("/")[2],
        info=info,
        state=_job_state(attempts, info, now_ns),
        attempts=attempts,
        workers=ranks,
        lives=read_lives(backend, ranks, damages),
        notices=tuple(notices),
        damages=tuple(damages),
        report_seconds=report_cost_since(backend, _start_ns(_latest(attempts))),
    )


def _node_attempts(
    backend: Backend, node: str, now_ns: int, damages: list[str]
) -> list[NodeAttempt]:
    found = []
    folder = layout.node_folder(node)
    for name in backend.folders(folder):
        number = name.removeprefix("attempt-")
        if number == name or not number.isdigit():
            continue
        place = (node, int(number))
        attempt = read_document(Attempt, backend, layout.attempt_key(*place, "start"), damages)
        if attempt is None:
            continue
        if (attempt.node, attempt.number) != place:
            damages.append(f"{layout.attempt_key(*place, 'start')} is damaged: of another node")
            continue
        exit_ = read_document(Exit, backend, layout.attempt_key(*place, "exit"), damages)
        heartbeat = read_document(
            Heartbeat, backend, layout.attempt_key(*place, "heartbeat"), damages
        )
        key = layout.attempt_key(*place, "surroundings")
        surroundings = read_document(Surroundings, backend, key, damages)
        if exit_ is not None:
            state = exit_.state
        else:
            is_running = is_present(backend, attempt, now_ns)
            state = JobState.RUNNING if is_running else JobState.LOST
        frameworks = read_frameworks(backend, *place)
        found.append(NodeAttempt(attempt, state, exit_, heartbeat, surroundings, frameworks))
    return found


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
