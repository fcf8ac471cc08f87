"""The workers of a job: every life of each rank, and the rows that it wrote.

A rank lives again when a job is resumed and when an elastic launcher restarts it. Steps that were
done twice are known twice then; the later life is the one that training went on from.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sonde.read.documents import read_document
from sonde.records.notice import Notice, NoticeKind
from sonde.records.step import NO_STEP
from sonde.records.worker import Failure, WorkerBeat, WorkerInfo
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.damage import MISSING
from sonde.store.format import NOTICES, Family
from sonde.store.reader import FolderReader
from sonde.store.rollups import Instants

Marks = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

_LIFE = re.compile(r"attempt-([0-9]{1,9})\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class WorkerLife:
    """One start of a worker: what it is, how far it came, and why it died if it said so."""

    info: WorkerInfo
    beat: WorkerBeat | None = None
    failure: Failure | None = None


class WorkerReader:
    """What one rank recorded, in all its lives; nothing is read until it is asked for."""

    def __init__(self, backend: Backend, rank: int, lives: Sequence[WorkerLife]) -> None:
        self.backend = backend
        self.rank = rank
        self._folders: dict[str, FolderReader] = {}
        self._set_lives(lives)

    def refresh(self, lives: Sequence[WorkerLife]) -> None:
        """Looks for what has grown since."""
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
        """What was found damaged in what has been read so far."""
        return [text for folder in self._folders.values() for text in folder.damages]

    def lives_of(self, times_ns: Instants) -> Numbers:
        """Which life each instant belongs to; -1 before the first that is known.

        Of a stretch its end is asked for: the wait for a first batch began before its worker was
        known.
        """
        return np.searchsorted(self._starts_ns, times_ns, side="right").astype(np.int64) - 1

    def life_starts_ns(self, times_ns: Instants) -> Instants:
        """When the life that each instant belongs to began, for those that came back together.

        0 for a first life, before which there was nothing, and for a worker that trains alone.
        """
        later = [one.info.start_ns if one.info.world_size > 1 else 0 for one in self.lives[1:]]
        starts = np.array([0, 0, *later], dtype=np.int64)
        return np.asarray(starts[self.lives_of(times_ns) + 1])

    def world_sizes(self, times_ns: Instants) -> Numbers:
        """How many workers trained together in the life that each instant belongs to."""
        known = [one.info.world_size for one in self.lives]
        return np.array([1, *known], dtype=np.int64)[self.lives_of(times_ns) + 1]

    def latest(self, times_ns: Instants, steps: Numbers, *others: Numbers) -> Marks:
        """Which rows stand: of what was recorded in several lives, those of the last one.

        Args:
            times_ns: When each row was recorded.
            steps: Its step; outside of any step everything stands.
            others: What else tells rows apart, such as the number of its name.
        """
        lives = self.lives_of(times_ns)
        if not len(lives) or (lives == lives[0]).all():
            return np.ones(len(lives), dtype=np.bool_)
        groups = _groups(steps, *others)
        last = np.full(int(groups.max()) + 1, -1, dtype=np.int64)
        np.maximum.at(last, groups, lives)
        stands: Marks = (lives == last[groups]) | (steps == NO_STEP)
        return stands

    def _set_lives(self, lives: Sequence[WorkerLife]) -> None:
        own = [one for one in lives if one.info.rank == self.rank]
        self.lives = tuple(sorted(own, key=lambda one: one.info.start_ns))
        self._starts_ns = np.array([one.info.start_ns for one in self.lives], dtype=np.int64)


def _groups(*keys: Numbers) -> Numbers:
    """One number per distinct combination."""
    combined = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        _, numbers = np.unique(key, return_inverse=True)
        combined = combined * (int(numbers.max()) + 1) + numbers
    return np.unique(combined, return_inverse=True)[1].astype(np.int64)


def list_ranks(backend: Backend) -> tuple[str, ...]:
    """The ranks that have a folder, in the order of counting."""
    found = (name for name in backend.folders(layout.WORKERS) if layout.is_number(name))
    return tuple(sorted(found, key=int))


def read_lives(backend: Backend, ranks: Iterable[str]) -> tuple[WorkerLife, ...]:
    """Every life of every rank."""
    found = []
    for rank in map(int, ranks):
        for name in backend.folders(layout.worker_folder(rank)):
            match = _LIFE.fullmatch(name)
            if match is None:
                continue
            life = _read_life(backend, (rank, int(match[1]), int(match[2])))
            found += [] if life is None else [life]
    return tuple(found)


def _read_life(backend: Backend, place: tuple[int, int, int]) -> WorkerLife | None:
    key = layout.worker_key(*place, "start")
    info = read_document(WorkerInfo, backend, key, [])
    beat = read_document(WorkerBeat, backend, layout.worker_key(*place, "beat"), [])
    failure = read_document(Failure, backend, layout.worker_key(*place, "failure"), [])
    if info is None and failure is not None:  # it died before it could begin to train
        rank, attempt, restart = place
        info = WorkerInfo(rank, "", attempt, restart, pid=0, start_ns=failure.time_ns)
    if info is None:
        if beat is not None and not backend.exists(key):
            backend.ledger.report(key, f"{key} is missing", reason=MISSING)
        return None
    if (info.rank, info.attempt, info.restart) != place:
        backend.ledger.report(key, f"{key} is damaged: of another worker")
        return None
    return WorkerLife(info, beat, failure)


def read_notices(reader: FolderReader) -> list[Notice]:
    """What was said about a recording."""
    known = {kind.value for kind in NoticeKind}  # a newer sonde may have more to say
    return [
        Notice(NoticeKind(row["kind"]), row["what"], row["reason"], row["start_ns"], row["end_ns"])
        for row in reader.rows().to_pylist()
        if row["kind"] in known
    ]


def read_worker_notices(backend: Backend, ranks: Sequence[str]) -> list[Notice]:
    """What the workers say about their recording: what several say alike, once."""
    said: dict[tuple[NoticeKind, str, str], Notice] = {}
    by: dict[tuple[NoticeKind, str, str], list[str]] = {}
    for rank in ranks:
        reader = FolderReader(backend, layout.worker_folder(int(rank)), NOTICES)
        reader.refresh()
        for one in read_notices(reader):
            same = (one.kind, one.what, one.reason)
            known = said.get(same, one)
            start_ns, end_ns = min(known.start_ns, one.start_ns), max(known.end_ns, one.end_ns)
            said[same] = replace(one, start_ns=start_ns, end_ns=end_ns)
            by.setdefault(same, []).append(rank)
    return [_with_workers(one, by[same], ranks) for same, one in said.items()]


def _with_workers(notice: Notice, said_by: Sequence[str], all_ranks: Sequence[str]) -> Notice:
    ranks = list(dict.fromkeys(said_by))
    if len(ranks) == len(all_ranks):
        return notice
    word = "worker" if len(ranks) == 1 else "workers"
    return replace(notice, what=f"{notice.what} ({word} {', '.join(ranks)})")


def of_one_training(times_ns: Instants, life_starts_ns: Instants, *keys: Numbers) -> Marks:
    """Which rows of several workers belong together: those with the same keys, such as the step.

    Workers that come back together do so before any of them has finished a step. So a row that is
    older than a later life that recorded the same step was left behind by a worker that is gone.
    """
    if not len(times_ns):
        return np.ones(0, dtype=np.bool_)
    groups = _groups(*keys)
    latest = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.maximum.at(latest, groups, life_starts_ns)
    return np.asarray(times_ns >= latest[groups])
