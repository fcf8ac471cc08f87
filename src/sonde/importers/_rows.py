"""Write the rows of one recording of a worker or a node."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.formats import format_count
from sonde.records.metric import Series
from sonde.records.notice import NoticeKind
from sonde.records.profile import ProfileKind
from sonde.records.python_profile import PythonProfile
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.format import INTEGER, NOTICES, Family
from sonde.store.python_profiles import encode_profile
from sonde.store.tensors import RawTensor, parts_of_file
from sonde.store.writer import Writer

if TYPE_CHECKING:
    from sonde.records.worker import TensorInfo

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


class Rows:
    """Writes the rows of one recording."""

    def __init__(self, backend: Backend, folder: str, clock: Clock) -> None:
        self._backend = backend
        # one writer per recording: segments with the same start need different names
        self._writer = Writer(backend, folder, clock, _WAITING_BYTES)
        self.start_ns: int | None = None
        self.end_ns: int | None = None
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
            self._write()
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

    def record_all_skipped(self, counts: "Counter[str]") -> None:
        """Record a notice for each kind of skipped events."""
        for what, count in (+counts).items():
            self.record_skipped(f"{what} ({format_count(count)})")

    def _write(self) -> None:
        if not self._writer.outbox.write_waiting():
            raise StoreError(f"Cannot write the job: {self._writer.outbox.last_error}")

    def _extend_range(self, start_ns: int, end_ns: int) -> None:
        self.start_ns = start_ns if self.start_ns is None else min(self.start_ns, start_ns)
        self.end_ns = end_ns if self.end_ns is None else max(self.end_ns, end_ns)


class WorkerRows(Rows):
    """Writes the rows and tensors of one recording of one worker."""

    def __init__(self, backend: Backend, source: WorkerDescription, clock: Clock) -> None:
        super().__init__(backend, layout.worker_folder(source.rank), clock)
        self.source = source
        self.steps: dict[str, set[int]] = {}  # by mode
        self.tensors: dict[str, TensorInfo] = {}
        self._profiles = 0

    def add_steps(self, mode: str, steps: Iterable[int]) -> None:
        """Count steps, which may be added several times."""
        self.steps.setdefault(mode, set()).update(steps)

    def add_values(self, mode: str, step: int, tensors: Mapping[str, RawTensor]) -> None:
        """Save the full tensors of a step."""
        key = layout.values_key(self.source.rank, mode, step, self._writer.token)
        facts = {"step": str(step), "mode": mode, "key": key}
        self._backend.write_parts(key, parts_of_file(tensors, facts))

    def add_python_profile(self, step: int, profile: PythonProfile) -> None:
        """Save a Python profile that starts at a step."""
        self._profiles += 1
        token = f"{self._writer.token}_{self._profiles}"
        key = layout.profile_key(self.source.rank, ProfileKind.PYTHON.value, step, token)
        key += layout.TRACE_SUFFIX
        self._backend.write(key, encode_profile(profile, key))
        self._extend_range(profile.start_ns, profile.end_ns)


class NodeRows(Rows):
    """Writes the samples of one node."""

    def __init__(self, backend: Backend, node: str, clock: Clock) -> None:
        super().__init__(backend, layout.node_folder(node), clock)
        self.node = node
        self.samples = 0

    def add_samples(
        self, series: tuple[Series, ...], ticks: Iterable[tuple[int, Sequence[float]]]
    ) -> None:
        """Write ticks in order of time, with a value for each series; NaN if missing."""
        for time_ns, values in ticks:
            self._writer.add_sample(time_ns, series, values)
            self._extend_range(time_ns, time_ns)
            self.samples += 1
            if self.samples % _BATCH_ROWS == 0:
                self._flush()
        self._flush()

    def _flush(self) -> None:
        self._writer.flush()
        self._write()


def _integers(values: Sequence[int]) -> "array[int]":
    numbers = array(INTEGER)
    numbers.frombytes(np.ascontiguousarray(values, dtype=np.int64).tobytes())
    return numbers
