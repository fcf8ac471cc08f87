"""Collectives of a job, matched between its workers, as data frames and text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sonde.analyze.collectives import (
    UNMATCHED,
    Lateness,
    MatchedCollectives,
    lateness,
    match,
    slow_worker,
)
from sonde.analyze.extents import Extents
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, pluralize
from sonde.read.collectives import UNKNOWN, Calls, read_collectives
from sonde.read.profiles import operations_of
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.chart import Spec
from sonde.records.profile import OperationCategory
from sonde.records.ranges import ANY_STEP, StepRange, TimeRange
from sonde.results.charts import stacked_bars
from sonde.results.clocks import Clocks, estimate_clocks, kinds_of
from sonde.results.record_rows import RecordRows
from sonde.results.tables import TIME, Frame
from sonde.store.tables import from_numpy, from_texts, texts_of, to_numpy

_MIN_WAIT_NS = 1_000_000  # shorter waits are not attributed to a worker
_STEP_BITS = 40
_STEP_MARGIN_NS = 60 * NANOSECONDS
EMPTY = "No collectives recorded. Record some with: sonde profile JOB --kinds distributed"
_NOT_COMPUTING = ("nccl", "gloo:", "c10d::", "record_param_comms")


@dataclass(frozen=True)
class OperationTime:
    """All calls of an operation in a group, over all workers."""

    operation: str
    group: str
    source: str
    calls: int
    bytes: int  # of calls with a known size
    exposed_ns: int
    waiting_ns: int
    transfer_ns: int


@dataclass(frozen=True)
class Collectives(Frame):
    """Every profiled collective, call by call; read on first use.

    Calls are matched between workers by group, operation, step and order. Workers wait until the
    last one enters; the rest of a call is transfer. Exposed time is not hidden by computation.
    """

    readers: tuple[WorkerReader, ...]
    steps: StepRange = ANY_STEP

    @cached_property
    def calls_by_worker(self) -> tuple[Calls, ...]:
        """The calls by worker, as read."""
        return tuple(read_collectives(reader).within(self.steps) for reader in self.readers)

    @cached_property
    def clocks(self) -> Clocks:
        """Clock offsets between nodes; times here are corrected by them."""
        spans = [
            (calls.starts_ns.min(), calls.ends_ns.max())
            for calls in self.calls_by_worker
            if len(calls)
        ]
        first_ns = min((int(start) for start, _ in spans), default=0) - _STEP_MARGIN_NS
        last_ns = max((int(end) for _, end in spans), default=0) + _STEP_MARGIN_NS
        return estimate_clocks(self.readers, self.calls_by_worker, TimeRange(first_ns, last_ns))

    @cached_property
    def matched(self) -> MatchedCollectives:
        """MatchedCollectives calls and their waits, in the order of the table."""
        return match(kinds_of(self.calls_by_worker), self._ranks, self._starts_ns, self._ends_ns)

    @cached_property
    def workers(self) -> tuple[Lateness, ...]:
        """How long each worker waited, and how long others waited for it."""
        return lateness(self.matched, self._ranks, self._step_numbers, self._exposed_ns)

    @property
    def slow_worker(self) -> int | None:
        """The worker that delays the others, if there is one."""
        return None if self._slow is None else self._slow.worker

    def __len__(self) -> int:
        return sum(map(len, self.calls_by_worker))

    def to_arrow(self) -> pa.Table:
        """One row per worker and call; `collective` is -1 for calls without a match."""
        calls = [call for worker_calls in self.calls_by_worker for call in worker_calls.calls]
        matched, durations_ns = self.matched, self._ends_ns - self._starts_ns
        is_async = np.array([call.is_async for call in calls], dtype=np.bool_)
        sizes = np.array([call.bytes for call in calls], dtype=np.float64)
        times = {
            "seconds": durations_ns,
            "waiting_seconds": matched.waiting_ns,
            "transfer_seconds": durations_ns - matched.waiting_ns,
            "exposed_seconds": self._exposed_ns,
            "late_seconds": matched.late_ns,
        }
        return pa.table(
            {
                "worker": from_numpy(self._ranks),
                "node": from_texts(
                    [
                        worker_calls.node
                        for worker_calls in self.calls_by_worker
                        for _ in worker_calls.calls
                    ]
                ),
                "step": from_numpy(
                    _joined([worker_calls.steps for worker_calls in self.calls_by_worker])
                ),
                "operation": from_texts([call.name for call in calls]),
                "group": from_texts([call.group for call in calls]),
                "time": from_numpy(self._starts_ns).cast(TIME),
                **{name: from_numpy(values / NANOSECONDS) for name, values in times.items()},
                "bytes": from_numpy(np.where(sizes == UNKNOWN, np.nan, sizes)),
                "asynchronous": from_numpy(is_async.view(np.int8)).cast(pa.bool_()),
                "source": from_texts([call.source for call in calls]),
                "collective": from_numpy(matched.collectives),
            }
        )

    def by_worker(self) -> RecordRows:
        """How long each worker waited, and how long others waited for it."""
        return RecordRows(self.workers, Lateness)

    def by_operation(self) -> RecordRows:
        """Time by operation and group over all workers, most exposed time first."""
        indices: dict[tuple[str, str, str], list[int]] = {}
        calls = [call for worker_calls in self.calls_by_worker for call in worker_calls.calls]
        for index, call in enumerate(calls):
            indices.setdefault((call.name, call.group, call.source), []).append(index)
        waiting_ns, durations_ns = self.matched.waiting_ns, self._ends_ns - self._starts_ns
        operations = [
            OperationTime(
                *key,
                calls=len(rows),
                bytes=sum(max(0, calls[index].bytes) for index in rows),
                exposed_ns=int(self._exposed_ns[rows].sum()),
                waiting_ns=int(waiting_ns[rows].sum()),
                transfer_ns=int((durations_ns - waiting_ns)[rows].sum()),
            )
            for key, rows in indices.items()
        ]
        return RecordRows(
            tuple(sorted(operations, key=lambda each: -each.exposed_ns)), OperationTime
        )

    def __repr__(self) -> str:
        if not len(self):
            return EMPTY
        counts = f"{pluralize(len(self), 'call')} of {pluralize(len(self.workers), 'worker')}"
        lines = [f"{counts}, {pluralize(self.matches, 'matched collective')}", ""]
        lines += [repr(self.by_operation()), "", repr(self.by_worker()), "", self.verdict]
        if len(self.clocks.nodes) > 1:
            lines += ["", repr(self.clocks)]
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """Which worker is late, as a sentence."""
        slow = self._slow
        if not self.matches:
            return "No collectives could be matched between workers."
        if slow is None:
            return "No worker delays the others."
        return (
            f"Worker {slow.worker} is slow: the others waited for it in {slow.awaited_steps} of "
            f"{pluralize(self._steps, 'step')}, "
            f"{format_duration(slow.awaited_ns / self._steps / NANOSECONDS)} per step."
        )

    @property
    def matches(self) -> int:
        """Number of collectives of two or more workers."""
        return len(np.unique(self.matched.collectives[self.matched.collectives != UNMATCHED]))

    @cached_property
    def _slow(self) -> Lateness | None:
        error_ns = self.clocks.error_ns
        if error_ns is None:
            return None
        return slow_worker(self.workers, self._steps, max(_MIN_WAIT_NS, error_ns))

    @property
    def _steps(self) -> int:
        """Number of steps with matched collectives."""
        return len(np.unique(self._step_numbers[self.matched.collectives != UNMATCHED]))

    @cached_property
    def _step_numbers(self) -> IntArray:
        """A number for each life and step."""
        return _joined(
            [(calls.lives << _STEP_BITS) + calls.steps for calls in self.calls_by_worker]
        )

    @cached_property
    def _ranks(self) -> IntArray:
        return _joined(
            [np.full(len(calls), calls.worker, np.int64) for calls in self.calls_by_worker]
        )

    @cached_property
    def _starts_ns(self) -> IntArray:
        offsets = self.clocks.offsets_ns
        return _joined(
            [calls.starts_ns - offsets.get(calls.node, 0) for calls in self.calls_by_worker]
        )

    @cached_property
    def _ends_ns(self) -> IntArray:
        offsets = self.clocks.offsets_ns
        return _joined(
            [calls.ends_ns - offsets.get(calls.node, 0) for calls in self.calls_by_worker]
        )

    @cached_property
    def _exposed_ns(self) -> IntArray:
        pairs = zip(self.readers, self.calls_by_worker, strict=True)
        return _joined([_exposed(reader, calls) for reader, calls in pairs])

    def _chart_spec(self) -> Spec:
        columns = ("waiting_seconds", "transfer_seconds")
        label = ("operation", "group")
        table = self.by_operation().to_arrow()
        return stacked_bars(table, "Collectives of all workers", label, columns, "seconds")


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


def _exposed(reader: WorkerReader, calls: Calls) -> IntArray:
    """Exposed time: as recorded, or the part of a call not covered by computation.

    Never longer than the call: a thread that gets no core after it is not waiting for the call.
    """
    exposed = np.array([call.exposed_ns for call in calls.calls], dtype=np.int64)
    for device in {call.device for call in calls.calls if call.exposed_ns == UNKNOWN}:
        is_selected = np.array(
            [call.device == device and call.exposed_ns == UNKNOWN for call in calls.calls]
        )
        starts_ns, ends_ns = calls.starts_ns[is_selected], calls.ends_ns[is_selected]
        computing = _computing(reader, device, int(starts_ns.min()), int(ends_ns.max()))
        exposed[is_selected] = ends_ns - starts_ns - computing.covered_ns(starts_ns, ends_ns)
    limited: IntArray = np.minimum(exposed, calls.ends_ns - calls.starts_ns)
    return limited


def _computing(reader: WorkerReader, device: str, first_ns: int, last_ns: int) -> Extents:
    kind = OperationCategory.OPERATOR if device in ("", "cpu") else OperationCategory.KERNEL
    within = TimeRange(first_ns - _STEP_MARGIN_NS, last_ns)
    only = {"category": {kind.value}, "device": {device}}
    table = operations_of(reader, within, ("name", "start_ns", "duration_ns"), only)
    names, numbers = texts_of(table["name"])
    computes = np.array([not name.startswith(_NOT_COMPUTING) for name in names] or [True])
    is_work = computes[numbers]
    starts_ns = to_numpy(table["start_ns"])[is_work]
    return Extents.of(starts_ns, starts_ns + to_numpy(table["duration_ns"])[is_work])
