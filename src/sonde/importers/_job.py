"""Create a job from recordings: written to a draft, then published when it is complete."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from sonde.clock import NANOSECONDS, Clock
from sonde.errors import DamagedError, JobExistsError
from sonde.importers._rows import NodeRows, WorkerDescription, WorkerRows
from sonde.records.job import Attempt, Exit, ExitReason, JobInfo, JobState, Launcher, Surroundings
from sonde.records.worker import TensorIndex, TensorInfo, WorkerBeat, WorkerInfo
from sonde.settings import DEFAULT_STORE
from sonde.store import layout
from sonde.store.backends import open_backend
from sonde.store.closing import write_closing
from sonde.store.facts import encode_facts
from sonde.store.format import FAMILIES
from sonde.store.places import absolute_store, job_uri, refuse_link
from sonde.store.seal import FamilyFolder, seal_folder

_DRAFT = ".import-"
_FORGOTTEN_SECONDS = 24 * 3600


@dataclass(slots=True)
class _Life:
    """The merged facts of all recordings of a worker."""

    source: WorkerDescription
    start_ns: int
    end_ns: int
    steps: dict[str, set[int]] = field(default_factory=dict)
    tensors: dict[str, TensorInfo] = field(default_factory=dict)

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
        documents: dict[str, object] = {
            "start": info,
            "beat": WorkerBeat(self.end_ns, counts, 0.0, 0.0, 0.0, 0, is_over=True),
        }
        if self.tensors:
            documents["tensors"] = TensorIndex(tuple(self.tensors.values()))
        return documents


@dataclass(frozen=True, slots=True)
class _Host:
    """A node, its workers, and the time range of its recordings."""

    node: str
    lives: tuple[_Life, ...]
    start_ns: int
    end_ns: int

    @property
    def source(self) -> WorkerDescription:
        """The facts of its first worker; without a worker, only its name."""
        return self.lives[0].source if self.lives else WorkerDescription(0, self.node)


class JobDraft:
    """A hidden job that becomes visible when it is published; otherwise it is removed."""

    def __init__(self, store: str, name: str, clock: Clock) -> None:
        self.name = layout.check_name(name)
        self._store = store
        self._clock = clock
        self._backend = open_backend(job_uri(store, f"{_DRAFT}{name}-{os.urandom(4).hex()}"))
        self._final = open_backend(job_uri(store, name))
        self._recordings: list[WorkerRows] = []
        self._nodes: list[NodeRows] = []
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

    def node(self, name: str) -> NodeRows:
        """Add a recording of a node."""
        rows = NodeRows(self._backend, name, self._clock)
        self._nodes.append(rows)
        return rows

    def publish(self, command: Sequence[str], folder: str) -> None:
        """Make the job visible.

        Args:
            command: Recorded as the command of the job.
            folder: The folder of the recordings.
        """
        hosts = tuple(_hosts(self._recordings, self._nodes))
        if not hosts:
            raise DamagedError(f"{folder} has no readable recording.")
        for host in hosts:
            self._write_documents(host, command, folder)
        folders = [layout.node_folder(host.node) for host in hosts]
        folders += [layout.worker_folder(life.source.rank) for host in hosts for life in host.lives]
        for rows_folder in folders:
            for family in FAMILIES.values():
                sealed = FamilyFolder(self._backend, rows_folder, family)
                seal_folder(sealed, is_over=True, merge_all=True)
        self._move(JobInfo(self.name, self._clock.now_ns(), hosts[0].node))

    def _write_documents(self, host: _Host, command: Sequence[str], folder: str) -> None:
        """Write the documents of a node and its workers."""
        first = host.source
        attempt = Attempt(
            node=host.node,
            number=1,
            start_ns=host.start_ns,
            command=tuple(command),
            folder=folder,
            process_pid=first.pid,
            launcher=Launcher(0, "", ""),
            interval_seconds=0.0,
        )
        message = "imported; the recording has no exit code"
        exit_ = Exit(JobState.ENDED, ExitReason.EXIT, host.end_ns, message=message)
        documents = {
            "start": attempt,
            "exit": exit_,
            "surroundings": Surroundings(versions=first.versions, machine=first.machine),
        }
        for what, record in documents.items():
            key = layout.attempt_key(host.node, 1, what)
            self._backend.write(key, encode_facts(record, key))
        for life in host.lives:
            for what, record in life.documents().items():
                key = layout.worker_key(life.source.rank, 1, 0, what)
                self._backend.write(key, encode_facts(record, key))
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
        life.tensors |= rows.tensors
    for life in lives.values():
        life.source = replace(life.source, world_size=max(life.source.world_size, len(lives)))
    return [lives[rank] for rank in sorted(lives)]


def _hosts(recordings: Sequence[WorkerRows], nodes: Sequence[NodeRows]) -> Iterator[_Host]:
    """All nodes with a recording, in order of their names."""
    lives = _lives(recordings)
    named = {life.source.node for life in lives}
    named.update(rows.node for rows in nodes if rows.start_ns is not None)
    for node in sorted(named):
        local = tuple(life for life in lives if life.source.node == node)
        starts = [life.start_ns for life in local]
        ends = [life.end_ns for life in local]
        for rows in nodes:
            if rows.node == node and rows.start_ns is not None and rows.end_ns is not None:
                starts.append(rows.start_ns)
                ends.append(rows.end_ns)
        yield _Host(node, local, min(starts), max(ends))


def _remove_abandoned_drafts(store: str, now_ns: int) -> None:
    """Remove drafts of imports that were killed."""
    for name in open_backend(store).folders(""):
        if name.startswith(_DRAFT):
            draft = open_backend(job_uri(store, name))
            modified_ns = max((entry.modified_ns for entry in draft.entries("")), default=0)
            if now_ns - modified_ns > _FORGOTTEN_SECONDS * NANOSECONDS:
                draft.erase()
