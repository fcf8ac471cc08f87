"""Clock offsets between the nodes of a job, their errors and sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.analyze.collectives import UNMATCHED, MatchedCollectives, match
from sonde.analyze.skew import Meetings, Offset, offset_from_ends, offset_from_meetings
from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.collectives import Calls, node_of
from sonde.read.profiles import steps_of
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.chart import Spec
from sonde.records.ranges import TimeRange
from sonde.results.charts import bars
from sonde.results.tables import Frame, aligned
from sonde.store.tables import from_numpy, from_texts

# no worker leaves these before all have entered
_SYMMETRIC = ("all_gather", "all_reduce", "all_to_all", "barrier", "reduce_scatter")
# point-to-point operations are not matched within the group
_BETWEEN_TWO = ("batch_isend_irecv", "recv", "send", "send_recv")

REFERENCE, COLLECTIVES, STEPS, NOTHING = "reference", "collectives", "steps", "nothing"


@dataclass(frozen=True)
class NodeClock:
    """The clock of a node relative to that of the first node."""

    node: str
    offset_ns: int
    error_ns: int | None  # None: unknown
    source: str
    meetings: int = 0


@dataclass(frozen=True)
class Clocks(Frame):
    """The clocks of nodes; times are corrected by these offsets."""

    nodes: tuple[NodeClock, ...]

    @property
    def offsets_ns(self) -> Mapping[str, int]:
        """How far each node's clock is ahead of the first node's."""
        return {node.node: node.offset_ns for node in self.nodes}

    @property
    def error_ns(self) -> int | None:
        """Maximum error between corrected times of two nodes; None if unknown."""
        errors = [node.error_ns for node in self.nodes]
        finite = [error for error in errors if error is not None]
        return sum(sorted(finite)[-2:]) if len(finite) == len(errors) else None

    def to_arrow(self) -> pa.Table:
        """One row per node."""
        errors = [np.nan if node.error_ns is None else node.error_ns for node in self.nodes]
        offsets = np.array([node.offset_ns for node in self.nodes], dtype=np.float64)
        return pa.table(
            {
                "node": from_texts([node.node for node in self.nodes]),
                "offset_seconds": from_numpy(offsets / NANOSECONDS),
                "error_seconds": from_numpy(np.array(errors, dtype=np.float64) / NANOSECONDS),
                "source": from_texts([node.source for node in self.nodes]),
                "meetings": from_numpy(np.array([node.meetings for node in self.nodes], np.int64)),
            }
        )

    def __repr__(self) -> str:
        rows = [
            (
                node.node,
                format_duration(node.offset_ns / NANOSECONDS),
                "unknown"
                if node.error_ns is None
                else format_duration(node.error_ns / NANOSECONDS),
                node.source,
            )
            for node in self.nodes
        ]
        return aligned([("node", "offset", "error", "source"), *rows], left_columns=1)

    def _chart_spec(self) -> Spec:
        values = ("offset_seconds", "error_seconds")
        return bars(self.to_arrow(), "Clock offsets", "node", values, "seconds")


def kinds_of(calls_by_worker: Sequence[Calls]) -> IntArray:
    """A number for each group, operation, life and step, for the calls of all workers."""
    numbers_by_key: dict[tuple[object, ...], int] = {}
    numbers = []
    for calls in calls_by_worker:
        rows = zip(calls.calls, calls.lives.tolist(), calls.steps.tolist(), strict=True)
        for call, life, step in rows:
            worker = calls.worker if call.name in _BETWEEN_TWO else None
            key = (call.group, call.name, call.source, life, step, worker)
            numbers.append(numbers_by_key.setdefault(key, len(numbers_by_key)))
    return np.array(numbers, dtype=np.int64)


def estimate_clocks(
    readers: Sequence[WorkerReader], calls_by_worker: Sequence[Calls], within: TimeRange
) -> Clocks:
    """Estimate the clock offset of every node in a time range.

    Args:
        readers: The workers.
        calls_by_worker: Their collectives.
        within: Time range of the steps to use if collectives are not sufficient.
    """
    first: dict[str, WorkerReader] = {}
    for reader in readers:
        first.setdefault(node_of(reader), reader)
    names = list(first)
    if len(names) <= 1:
        return Clocks(tuple(NodeClock(name, 0, 0, REFERENCE) for name in names))
    clocks = [NodeClock(names[0], 0, 0, REFERENCE)]
    common = _CommonCollectives(calls_by_worker)
    for name in names[1:]:
        offset, source = offset_from_meetings(common.of(names[0], name)), COLLECTIVES
        if offset is None:
            offset, source = _from_steps(first[names[0]], first[name], within), STEPS
        clocks.append(
            NodeClock(name, offset.offset_ns, offset.error_ns, source, offset.meetings)
            if offset is not None
            else NodeClock(name, 0, None, NOTHING)
        )
    return Clocks(tuple(clocks))


class _CommonCollectives:
    """Collectives in which workers of two nodes took part."""

    def __init__(self, calls_by_worker: Sequence[Calls]) -> None:
        calls_by_worker = [calls for calls in calls_by_worker if len(calls)]
        ranks = [np.full(len(calls), calls.worker, dtype=np.int64) for calls in calls_by_worker]
        nodes = [calls.node for calls in calls_by_worker for _ in range(len(calls))]
        is_symmetric = [
            call.name.startswith(_SYMMETRIC) for calls in calls_by_worker for call in calls.calls
        ]
        empty = np.empty(0, dtype=np.int64)
        self._starts_ns = np.concatenate([empty, *(calls.starts_ns for calls in calls_by_worker)])
        self._ends_ns = np.concatenate([empty, *(calls.ends_ns for calls in calls_by_worker)])
        self._nodes = np.array(nodes, dtype=np.str_)
        # matched by order, independent of the clocks
        kinds, workers = kinds_of(calls_by_worker), np.concatenate([empty, *ranks])
        matched: MatchedCollectives = match(kinds, workers, self._starts_ns, self._ends_ns)
        self._numbers = np.where(np.array(is_symmetric, np.bool_), matched.collectives, UNMATCHED)

    def of(self, node: str, other_node: str) -> Meetings:
        """Common collectives of two nodes: the last entry and the first exit on each."""
        numbers, entered_ns, left_ns = self._side(node)
        other_numbers, other_entered_ns, other_left_ns = self._side(other_node)
        _, indices, other_indices = np.intersect1d(numbers, other_numbers, return_indices=True)
        return Meetings(
            entered_ns[indices],
            left_ns[indices],
            other_entered_ns[other_indices],
            other_left_ns[other_indices],
        )

    def _side(self, node: str) -> tuple[IntArray, IntArray, IntArray]:
        selected = np.flatnonzero((self._nodes == node) & (self._numbers != UNMATCHED))
        numbers, indices = np.unique(self._numbers[selected], return_inverse=True)
        entered_ns = np.full(len(numbers), np.iinfo(np.int64).min)
        left_ns = np.full(len(numbers), np.iinfo(np.int64).max)
        np.maximum.at(entered_ns, indices, self._starts_ns[selected])
        np.minimum.at(left_ns, indices, self._ends_ns[selected])
        return numbers, entered_ns, left_ns


def _from_steps(
    reader: WorkerReader, other_reader: WorkerReader, within: TimeRange
) -> Offset | None:
    steps, other_steps = steps_of(reader, within), steps_of(other_reader, within)
    _, indices, other_indices = np.intersect1d(steps.steps, other_steps.steps, return_indices=True)
    return offset_from_ends(steps.ends_ns[indices], other_steps.ends_ns[other_indices])
