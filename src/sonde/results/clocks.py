"""Clock offsets between the nodes of a job, their errors and sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sonde.analyze.collectives import ALONE, Matched, match
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
        return {one.node: one.offset_ns for one in self.nodes}

    @property
    def error_ns(self) -> int | None:
        """Maximum error between corrected times of two nodes; None if unknown."""
        errors = [one.error_ns for one in self.nodes]
        known = [one for one in errors if one is not None]
        return sum(sorted(known)[-2:]) if len(known) == len(errors) else None

    def to_arrow(self) -> pa.Table:
        """One row per node."""
        errors = [np.nan if one.error_ns is None else one.error_ns for one in self.nodes]
        offsets = np.array([one.offset_ns for one in self.nodes], dtype=np.float64)
        return pa.table(
            {
                "node": from_texts([one.node for one in self.nodes]),
                "offset_seconds": from_numpy(offsets / NANOSECONDS),
                "error_seconds": from_numpy(np.array(errors, dtype=np.float64) / NANOSECONDS),
                "source": from_texts([one.source for one in self.nodes]),
                "meetings": from_numpy(np.array([one.meetings for one in self.nodes], np.int64)),
            }
        )

    def __repr__(self) -> str:
        rows = [
            (
                one.node,
                format_duration(one.offset_ns / NANOSECONDS),
                "unknown" if one.error_ns is None else format_duration(one.error_ns / NANOSECONDS),
                one.source,
            )
            for one in self.nodes
        ]
        return aligned([("node", "offset", "error", "source"), *rows], left=1)

    def _picture(self) -> Spec:
        values = ("offset_seconds", "error_seconds")
        return bars(self.to_arrow(), "Clock offsets", "node", values, "seconds")


def kinds_of(parts: Sequence[Calls]) -> IntArray:
    """A number for each group, operation, life and step, for the calls of all workers."""
    known: dict[tuple[object, ...], int] = {}
    numbers = []
    for part in parts:
        places = zip(part.calls, part.lives.tolist(), part.steps.tolist(), strict=True)
        for call, life, step in places:
            own = part.worker if call.name in _BETWEEN_TWO else None
            key = (call.group, call.name, call.source, life, step, own)
            numbers.append(known.setdefault(key, len(known)))
    return np.array(numbers, dtype=np.int64)


def estimate_clocks(
    readers: Sequence[WorkerReader], parts: Sequence[Calls], within: TimeRange
) -> Clocks:
    """Estimate the clock offset of every node in a time range.

    Args:
        readers: The workers.
        parts: Their collectives.
        within: Time range of the steps to use if collectives are not sufficient.
    """
    first: dict[str, WorkerReader] = {}
    for reader in readers:
        first.setdefault(node_of(reader), reader)
    names = list(first)
    if len(names) <= 1:
        return Clocks(tuple(NodeClock(name, 0, 0, REFERENCE) for name in names))
    found = [NodeClock(names[0], 0, 0, REFERENCE)]
    met = _Meeting(parts)
    for name in names[1:]:
        offset, source = offset_from_meetings(met.of(names[0], name)), COLLECTIVES
        if offset is None:
            offset, source = _from_steps(first[names[0]], first[name], within), STEPS
        found.append(
            NodeClock(name, offset.offset_ns, offset.error_ns, source, offset.meetings)
            if offset is not None
            else NodeClock(name, 0, None, NOTHING)
        )
    return Clocks(tuple(found))


class _Meeting:
    """Collectives in which workers of two nodes took part."""

    def __init__(self, parts: Sequence[Calls]) -> None:
        parts = [part for part in parts if len(part)]
        ranks = [np.full(len(part), part.worker, dtype=np.int64) for part in parts]
        nodes = [part.node for part in parts for _ in range(len(part))]
        is_symmetric = [call.name.startswith(_SYMMETRIC) for part in parts for call in part.calls]
        nothing = np.empty(0, dtype=np.int64)
        self._starts_ns = np.concatenate([nothing, *(part.starts_ns for part in parts)])
        self._ends_ns = np.concatenate([nothing, *(part.ends_ns for part in parts)])
        self._nodes = np.array(nodes, dtype=np.str_)
        # matched by order, independent of the clocks
        kinds, workers = kinds_of(parts), np.concatenate([nothing, *ranks])
        matched: Matched = match(kinds, workers, self._starts_ns, self._ends_ns)
        self._numbers = np.where(np.array(is_symmetric, np.bool_), matched.collectives, ALONE)

    def of(self, node: str, other: str) -> Meetings:
        """Common collectives of two nodes: the last entry and the first exit on each."""
        numbers, came_ns, left_ns = self._side(node)
        others, other_came_ns, other_left_ns = self._side(other)
        _, here, there = np.intersect1d(numbers, others, return_indices=True)
        return Meetings(came_ns[here], left_ns[here], other_came_ns[there], other_left_ns[there])

    def _side(self, node: str) -> tuple[IntArray, IntArray, IntArray]:
        mine = np.flatnonzero((self._nodes == node) & (self._numbers != ALONE))
        numbers, places = np.unique(self._numbers[mine], return_inverse=True)
        came_ns = np.full(len(numbers), np.iinfo(np.int64).min)
        left_ns = np.full(len(numbers), np.iinfo(np.int64).max)
        np.maximum.at(came_ns, places, self._starts_ns[mine])
        np.minimum.at(left_ns, places, self._ends_ns[mine])
        return numbers, came_ns, left_ns


def _from_steps(one: WorkerReader, other: WorkerReader, within: TimeRange) -> Offset | None:
    here, there = steps_of(one, within), steps_of(other, within)
    _, mine, theirs = np.intersect1d(here.steps, there.steps, return_indices=True)
    return offset_from_ends(here.ends_ns[mine], there.ends_ns[theirs])
