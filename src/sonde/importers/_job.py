"""Create a job from recordings: written to a draft, then published when it is complete."""

import os
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from sonde.clock import NANOSECONDS, Clock
from sonde.errors import JobExistsError, StoreError
from sonde.records.job import Attempt, Exit, ExitReason, JobInfo, JobState, Launcher, Surroundings
from sonde.records.notice import NoticeKind
from sonde.records.worker import WorkerBeat, WorkerInfo
from sonde.settings import DEFAULT_STORE
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.closing import write_closing
from sonde.store.facts import encode_facts
from sonde.store.format import FAMILIES, INTEGER, NOTICES, Family
from sonde.store.places import absolute_store, job_uri, refuse_link
from sonde.store.seal import FamilyFolder, seal_folder
from sonde.store.writer import Writer

_DRAFT = ".import-"
_FORGOTTEN_SECONDS = 24 * 3600
_BATCH_ROWS = 1 << 16
_WAITING_BYTES = 1 << 30  # never dropped: a failing write ends the import

Columns = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class WorkerDescription:
    """Facts about the worker that a recording belongs to."""

    rank: int
    node: str
    world_size: int = 1
    pid: int = 0
    device: str = "cpu"
    framework: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)


class WorkerRows:
    """Writes the rows of one recording of one worker."""

    def __init__(self, backend: Backend, source: WorkerDescription, clock: Clock) -> None:
        self.source = source
        # one writer per recording: segments with the same start need different names
        self._writer = Writer(backend, layout.worker_folder(source.rank), clock, _WAITING_BYTES)
        self.start_ns: int | None = None
        self.end_ns: int | None = None
        self.steps: dict[str, set[int]] = {}  # by mode
        self.counts: Counter[str] = Counter()  # number of rows by family

    def add(self, family: Family, columns: Columns) -> None:
        """Write rows in order of time, given as columns.

        Args:
            family: The family of the rows.
            columns: In the order of the family's columns; numbers may be arrays.
        """
        indices = {name: index for index, (name, _) in enumerate(family.columns)}
        starts_ns = np.asarray(columns[indices[family.time_column]], dtype=np.int64)
        for first in range(0, len(starts_ns), _BATCH_ROWS):
            batch = slice(first, first + _BATCH_ROWS)
            rows = [
                _integers(values[batch]) if code == INTEGER else values[batch]
                for (_, code), values in zip(family.columns, columns, strict=True)
            ]
            extent = int(starts_ns[batch].min()), int(starts_ns[batch].max())
            self._writer.add_columns(family, rows, *extent)
            if not self._writer.outbox.write_waiting():
                raise StoreError(f"Cannot write the job: {self._writer.outbox.last_error}")
        self.counts[family.name] += len(starts_ns)
        if len(starts_ns):
            has_durations = "duration_ns" in indices
            durations_ns = columns[indices["duration_ns"]] if has_durations else [0]
            ends_ns = starts_ns + np.asarray(durations_ns, dtype=np.int64)
            self._extend_range(int(starts_ns.min()), int(ends_ns.max()))

    def add_rows(self, family: Family, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows in order of time."""
        if rows:
            self.add(family, list(zip(*rows, strict=True)))

    def record_skipped(self, what: str) -> None:
        """Record a notice about skipped events."""
        extent = (self.start_ns or 0, self.end_ns or 0)
        reason = "not supported by the importer"
        self.add_rows(NOTICES, [(NoticeKind.NOT_COLLECTED.value, what, reason, *extent)])

    def _extend_range(self, start_ns: int, end_ns: int) -> None:
        self.start_ns = start_ns if self.start_ns is None else min(self.start_ns, start_ns)
        self.end_ns = end_ns if self.end_ns is None else max(self.end_ns, end_ns)


@dataclass(slots=True)
class _Life:
    """The merged facts of all recordings of a worker."""

    source: WorkerDescription
    start_ns: int
    end_ns: int
    steps: dict[str, set[int]] = field(default_factory=dict)

    def documents(self) -> dict[str, object]:
        """The documents of a worker."""
        source = self.source
        info = WorkerInfo(
            rank=source.rank,
            node=source.node,
            attempt=1,
            restart=0,
            pid=source.pid,
            start_ns=self.start_ns,
            world_size=source.world_size,
            framework=source.framework,
            versions=source.versions,
            device=source.device,
        )
        counts = {mode: len(steps) for mode, steps in self.steps.items()}
        return {
            "start": info,
            "beat": WorkerBeat(self.end_ns, counts, 0.0, 0.0, 0.0, 0, is_over=True),
        }


class JobDraft:
    """A hidden job that becomes visible when it is published; otherwise it is removed."""

    def __init__(self, store: str, name: str, clock: Clock) -> None:
        self.name = layout.check_name(name)
        self._store = store
        self._clock = clock
        self._backend = open_backend(job_uri(store, f"{_DRAFT}{name}-{os.urandom(4).hex()}"))
        self._final = open_backend(job_uri(store, name))
        self._recordings: list[WorkerRows] = []
        refuse_link(self._final)
        if self._final.exists(layout.JOB):
            raise self._name_in_use_error()

    def __enter__(self) -> Self:
        _remove_abandoned_drafts(self._store, self._clock.now_ns())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._backend.erase()

    def worker(self, source: WorkerDescription) -> WorkerRows:
        """Add a recording; recordings with the same rank belong to one worker."""
        rows = WorkerRows(self._backend, source, self._clock)
        self._recordings.append(rows)
        return rows

    def publish(self, command: Sequence[str], folder: str) -> None:
        """Make the job visible.

        Args:
            command: Recorded as the command of the job.
            folder: The folder of the recordings.
        """
        lives = _lives(self._recordings)
        nodes = sorted({life.source.node for life in lives})
        for node in nodes:
            node_lives = [life for life in lives if life.source.node == node]
            self._write_documents(node_lives, command, folder)
        for life in lives:
            for family in FAMILIES.values():
                family_folder = FamilyFolder(
                    self._backend, layout.worker_folder(life.source.rank), family
                )
                seal_folder(family_folder, is_over=True, merge_all=True)
        self._move(JobInfo(self.name, self._clock.now_ns(), nodes[0]))

    def _write_documents(self, lives: Sequence[_Life], command: Sequence[str], folder: str) -> None:
        """Write the documents of a node and its workers."""
        first = lives[0].source
        attempt = Attempt(
            node=first.node,
            number=1,
            start_ns=min(life.start_ns for life in lives),
            command=tuple(command),
            folder=folder,
            process_pid=first.pid,
            launcher=Launcher(0, "", ""),
            interval_seconds=0.0,
        )
        end_ns = max(life.end_ns for life in lives)
        message = "imported; the recording has no exit code"
        documents = {
            "start": attempt,
            "exit": Exit(JobState.ENDED, ExitReason.EXIT, end_ns, message=message),
            "surroundings": Surroundings(versions=first.versions, machine=first.machine),
        }
        for what, record in documents.items():
            key = layout.attempt_key(first.node, 1, what)
            self._backend.write(key, encode_facts(record, key))
        for life in lives:
            for what, record in life.documents().items():
                key = layout.worker_key(life.source.rank, 1, 0, what)
                self._backend.write(key, encode_facts(record, key))
        exit_ = documents["exit"]
        assert isinstance(exit_, Exit)
        now_ns = self._clock.now_ns()
        write_closing(self._backend, attempt, exit_, now_ns, with_workers=True)

    def _move(self, info: JobInfo) -> None:
        """Copy everything to the final folder; the job document is written last."""
        if self._final.entries(""):
            raise self._name_in_use_error()
        keys = [entry.key for entry in self._backend.entries("")]
        was_created = False
        try:
            for key in keys:
                self._final.write(key, self._backend.read(key))
            was_created = self._final.create(layout.JOB, encode_facts(info, layout.JOB))
        finally:
            if not was_created:
                self._final.delete(keys)
        if not was_created:
            raise self._name_in_use_error()
        if self._store == absolute_store(DEFAULT_STORE):
            open_backend(self._store).create(".gitignore", b"*\n")

    def _name_in_use_error(self) -> JobExistsError:
        return JobExistsError(
            f"Job {self.name!r} already exists in {self._store}. "
            f"Choose another --name, or remove it with: sonde rm {self.name}"
        )


def _lives(recordings: Sequence[WorkerRows]) -> list[_Life]:
    """Merge the recordings of each worker, in order of rank."""
    lives: dict[int, _Life] = {}
    for rows in recordings:
        if rows.start_ns is None or rows.end_ns is None:
            continue  # empty recording
        life = lives.setdefault(rows.source.rank, _Life(rows.source, rows.start_ns, rows.end_ns))
        life.start_ns = min(life.start_ns, rows.start_ns)
        life.end_ns = max(life.end_ns, rows.end_ns)
        for mode, steps in rows.steps.items():
            life.steps.setdefault(mode, set()).update(steps)
    for life in lives.values():
        life.source = replace(life.source, world_size=max(life.source.world_size, len(lives)))
    return [lives[rank] for rank in sorted(lives)]


def _remove_abandoned_drafts(store: str, now_ns: int) -> None:
    """Remove drafts of imports that were killed."""
    for name in open_backend(store).folders(""):
        if name.startswith(_DRAFT):
            draft = open_backend(job_uri(store, name))
            modified_ns = max((entry.modified_ns for entry in draft.entries("")), default=0)
            if now_ns - modified_ns > _FORGOTTEN_SECONDS * NANOSECONDS:
                draft.erase()


def _integers(values: Sequence[int]) -> "array[int]":
    numbers = array(INTEGER)
    numbers.frombytes(np.ascontiguousarray(values, dtype=np.int64).tobytes())
    return numbers
