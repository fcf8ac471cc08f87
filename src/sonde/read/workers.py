"""The workers of a job: every life (start) of each rank, and the rows it wrote.

A rank has a new life when a job is resumed and when an elastic launcher restarts it. Steps may be
recorded in several lives; training continued from the latest one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sonde.read.documents import read_document
from sonde.records.arrays import BoolArray, IntArray
from sonde.records.notice import INSIDE, TRAINING_STEPS, Notice, NoticeKind
from sonde.records.step import NO_STEP
from sonde.records.worker import Failure, WorkerBeat, WorkerInfo
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.damage import MISSING
from sonde.store.format import NOTICES, Family
from sonde.store.reader import FolderReader
from sonde.store.rollups import Instants


@dataclass(frozen=True, slots=True)
class WorkerLife:
    """One start of a worker: its facts, last heartbeat and failure."""

    info: WorkerInfo
    beat: WorkerBeat | None = None
    failure: Failure | None = None


class WorkerReader:
    """Lazily reads what one rank recorded in all its lives."""

    def __init__(self, backend: Backend, rank: int, lives: Sequence[WorkerLife]) -> None:
        self.backend = backend
        self.rank = rank
        self._folders: dict[str, FolderReader] = {}
        self._set_lives(lives)

    def refresh(self, lives: Sequence[WorkerLife]) -> None:
        """Read what was added since the last refresh."""
        self._set_lives(lives)
        for folder in self._folders.values():
            folder.refresh()

    def folder(self, family: Family) -> FolderReader:
        """The rows of one family."""
        if family.name not in self._folders:
            reader = FolderReader(self.backend, layout.worker_folder(self.rank), family)
            reader.refresh()
            self._folders[family.name] = reader
        return self._folders[family.name]

    @property
    def damages(self) -> list[str]:
        """Damage found so far."""
        return [text for folder in self._folders.values() for text in folder.damages]

    def lives_of(self, times_ns: Instants) -> IntArray:
        """The index of the life of each instant; -1 before the first life.

        For intervals, pass the end: the wait for the first batch begins before the worker is
        registered.
        """
        return np.searchsorted(self._starts_ns, times_ns, side="right").astype(np.int64) - 1

    def life_starts_ns(self, times_ns: Instants) -> Instants:
        """The start of the life of each instant, to match workers that restarted together.

        0 for a first life and for a worker that trains alone.
        """
        later = [life.info.start_ns if life.info.world_size > 1 else 0 for life in self.lives[1:]]
        starts = np.array([0, 0, *later], dtype=np.int64)
        return np.asarray(starts[self.lives_of(times_ns) + 1])

    def world_sizes(self, times_ns: Instants) -> IntArray:
        """The world size at each instant."""
        sizes = [life.info.world_size for life in self.lives]
        return np.array([1, *sizes], dtype=np.int64)[self.lives_of(times_ns) + 1]

    def latest(self, times_ns: Instants, steps: IntArray, *keys: IntArray) -> BoolArray:
        """Which rows are current: of rows recorded in several lives, those of the last one.

        Args:
            times_ns: When each row was recorded.
            steps: Its step; rows outside of steps are always current.
            *keys: Further keys that distinguish rows, such as the index of the name.
        """
        lives = self.lives_of(times_ns)
        if not len(lives) or (lives == lives[0]).all():
            return np.ones(len(lives), dtype=np.bool_)
        groups = _groups(steps, *keys)
        last = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        np.maximum.at(last, groups, lives)
        is_current: BoolArray = (lives == last[groups]) | (steps == NO_STEP)
        return is_current

    def _set_lives(self, lives: Sequence[WorkerLife]) -> None:
        rank_lives = [life for life in lives if life.info.rank == self.rank]
        self.lives = tuple(sorted(rank_lives, key=lambda life: life.info.start_ns))
        self._starts_ns = np.array([life.info.start_ns for life in self.lives], dtype=np.int64)


def _groups(*keys: IntArray) -> IntArray:
    """An index per distinct combination of keys."""
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        _, numbers = np.unique(key, return_inverse=True)
        combined = combined * (int(numbers.max()) + 1) + numbers
    return np.unique(combined, return_inverse=True)[1].astype(np.int64)


def list_ranks(backend: Backend) -> tuple[str, ...]:
    """The ranks that have a folder, in numeric order."""
    ranks = (name for name in backend.folders(layout.WORKERS) if layout.is_number(name))
    return tuple(sorted(ranks, key=int))


def read_lives(backend: Backend, ranks: Iterable[str]) -> tuple[WorkerLife, ...]:
    """Every life of every rank."""
    lives = []
    for rank in map(int, ranks):
        for name in backend.folders(layout.worker_folder(rank)):
            numbers = layout.parse_life(name)
            if numbers is None:
                continue
            life = _read_life(backend, (rank, *numbers))
            lives += [] if life is None else [life]
    return tuple(lives)


def _read_life(backend: Backend, life_key: tuple[int, int, int]) -> WorkerLife | None:
    key = layout.worker_key(*life_key, "start")
    info = read_document(WorkerInfo, backend, key, [])
    beat = read_document(WorkerBeat, backend, layout.worker_key(*life_key, "beat"), [])
    failure = read_document(Failure, backend, layout.worker_key(*life_key, "failure"), [])
    if info is None and failure is not None:  # it failed before training started
        rank, attempt, restart = life_key
        info = WorkerInfo(rank, "", attempt, restart, pid=0, start_ns=failure.time_ns)
    if info is None:
        if beat is not None and not backend.exists(key):
            backend.ledger.report(key, f"{key} is missing", reason=MISSING)
        return None
    if (info.rank, info.attempt, info.restart) != life_key:
        backend.ledger.report(key, f"{key} is damaged: it belongs to another worker")
        return None
    return WorkerLife(info, beat, failure)


def read_notices(reader: FolderReader) -> list[Notice]:
    """The notices about a recording."""
    kinds = {kind.value for kind in NoticeKind}  # newer versions may have more kinds
    notices = [
        Notice(NoticeKind(row["kind"]), row["what"], row["reason"], row["start_ns"], row["end_ns"])
        for row in reader.rows().to_pylist()
        if row["kind"] in kinds
    ]
    return [replace(notice, kind=_kind_in_text(notice)) for notice in notices]


def _kind_in_text(notice: Notice) -> NoticeKind:
    """The kind of a notice; version 0.1 distinguished two of them only by their texts."""
    if notice.kind is NoticeKind.LOST and TRAINING_STEPS in notice.what:
        return NoticeKind.LOST_STEPS
    if notice.kind is NoticeKind.NOT_COLLECTED and notice.what == INSIDE:
        return NoticeKind.HOOK_NOT_LOADED
    return notice.kind


def read_worker_notices(backend: Backend, ranks: Sequence[str]) -> list[Notice]:
    """The notices of the workers; equal notices of several workers are merged."""
    notices: dict[tuple[NoticeKind, str, str], Notice] = {}
    by: dict[tuple[NoticeKind, str, str], list[str]] = {}
    for rank in ranks:
        reader = FolderReader(backend, layout.worker_folder(int(rank)), NOTICES)
        reader.refresh()
        for notice in read_notices(reader):
            key = (notice.kind, notice.what, notice.reason)
            previous = notices.get(key, notice)
            start_ns, end_ns = (
                min(previous.start_ns, notice.start_ns),
                max(previous.end_ns, notice.end_ns),
            )
            notices[key] = replace(notice, start_ns=start_ns, end_ns=end_ns)
            by.setdefault(key, []).append(rank)
    return [_with_workers(notice, by[key], ranks) for key, notice in notices.items()]


def _with_workers(
    notice: Notice, reporting_ranks: Sequence[str], all_ranks: Sequence[str]
) -> Notice:
    ranks = list(dict.fromkeys(reporting_ranks))
    if len(ranks) == len(all_ranks):
        return notice
    word = "worker" if len(ranks) == 1 else "workers"
    return replace(notice, what=f"{notice.what} ({word} {', '.join(ranks)})")


def is_of_latest_attempt(
    times_ns: Instants, life_starts_ns: Instants, *keys: IntArray
) -> BoolArray:
    """Which rows of several workers with equal keys (such as the step) belong to the same attempt.

    Workers restart together before any of them finishes a step. So a row older than a later life
    that recorded the same step belongs to a worker of an earlier attempt.
    """
    if not len(times_ns):
        return np.ones(0, dtype=np.bool_)
    groups = _groups(*keys)
    latest = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.maximum.at(latest, groups, life_starts_ns)
    return np.asarray(times_ns >= latest[groups])
