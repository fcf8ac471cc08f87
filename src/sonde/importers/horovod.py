"""Import Horovod timelines."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from sonde.errors import DamagedError
from sonde.importers._chrome import Span, TraceLocation, Track, operations_of, read_chrome_trace
from sonde.importers._importer import Importer, Intake
from sonde.importers._rows import WorkerDescription
from sonde.importers._sources import Source
from sonde.importers._steps import find_training
from sonde.importers._training import add_all
from sonde.records.profile import OperationCategory

_NEGOTIATION = "NEGOTIATE_"
_COLLECTIVES = {
    "ALLREDUCE": "all_reduce",
    "ADASUM": "all_reduce",
    "ALLGATHER": "all_gather",
    "BROADCAST": "broadcast",
    "ALLTOALL": "all_to_all",
    "REDUCESCATTER": "reduce_scatter",
}
_NUMBER = re.compile(r"\d+")


class HorovodImporter(Importer):
    """Horovod timelines (`HOROVOD_TIMELINE`): negotiation and processing of each tensor.

    The negotiation shows when each rank was ready, and which rank was last. A truncated timeline,
    such as that of a killed job, is read as far as possible.
    """

    def read(self, source: Source, intake: Intake) -> None:
        trace = read_chrome_trace(source, intake)
        ready = [span for span in trace.spans if _is_ready(span)]
        trace.spans = _with_facts([span for span in trace.spans if not _is_ready(span)], ready)
        if not any(_is_collective(span) for span in trace.spans):
            hint = "Import other traces with: sonde import chrome-trace"
            raise DamagedError(f"{source.path} is not a Horovod timeline. {hint}")
        shift_ns = trace.shift_ns(intake, source.path)
        columns, operations = operations_of(trace, shift_ns, _location_of, _category_of)
        ranks = 1 + max((int(span.name) for span in ready), default=0)
        rows = intake.worker(
            WorkerDescription(source.rank, source.node, world_size=ranks, framework="horovod")
        )
        add_all(rows, columns, find_training(operations), trace.counters_at(shift_ns))


def _is_ready(span: Span) -> bool:
    """Whether a span marks that a rank is ready: an instant named after the rank."""
    return span.name.isdecimal() and not span.duration_ns


def _start(span: Span) -> int:
    return span.start_ns


def _location_of(track: Track) -> TraceLocation:
    """One lane per tensor, which is a process or a thread depending on Horovod's version."""
    return TraceLocation(track.thread or track.process or f"tensor {track.pid} {track.tid}".strip())


def _category_of(span: Span, _location: TraceLocation) -> OperationCategory:
    """COLLECTIVE for a complete collective, OTHER for its phases."""
    return OperationCategory.COLLECTIVE if _is_collective(span) else OperationCategory.OTHER


def _is_collective(span: Span) -> bool:
    return span.name.removeprefix(_NEGOTIATION) in _COLLECTIVES


def _with_facts(spans: Sequence[Span], ready: Sequence[Span]) -> list[Span]:
    by_tensor: dict[object, list[Span]] = {}
    for span in ready:
        by_tensor.setdefault(span.key, []).append(span)
    return [
        span.with_arguments(_facts(span, by_tensor.get(span.key, ())))
        if _is_collective(span)
        else span
        for span in spans
    ]


def _facts(span: Span, ready: Sequence[Span]) -> Mapping[str, Any]:
    """The details of a collective, named as in other profiles."""
    facts = span.arguments
    if span.name in _COLLECTIVES:
        facts |= {"phase": "processing", "collective": _COLLECTIVES[span.name]}
        if "shape" in facts:
            facts["elements_in"] = prod(map(int, _NUMBER.findall(str(facts["shape"]))))
        return facts
    facts["phase"] = "negotiation"
    first = bisect_left(ready, span.start_ns, key=_start)
    last = bisect_right(ready, span.start_ns + span.duration_ns, key=_start)
    ready_ns = {instant.name: instant.start_ns for instant in ready[first:last]}
    if ready_ns:
        facts["ready_ns"] = {rank: moment - span.start_ns for rank, moment in ready_ns.items()}
        facts["last_rank"] = int(max(ready_ns, key=lambda rank: ready_ns[rank]))
    return facts
