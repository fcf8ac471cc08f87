"""Import traces of PyTorch's profiler."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError
from sonde.formats import format_count, pluralize
from sonde.importers._chrome import kind_of
from sonde.importers._importer import Importer, Intake
from sonde.importers._rows import WorkerDescription
from sonde.importers._sources import Source
from sonde.importers._steps import Operations, find_training
from sonde.importers._training import add_training
from sonde.store.format import OPERATIONS
from sonde.traces.operations import Trace, decode_trace

# Flow arrows repeat correlations and sequence numbers.
_ARROWS = ("s", "t", "f")
_YEAR_NS = 365 * 24 * 3600 * NANOSECONDS
_VERSIONS = {"cuda_runtime_version": "cuda", "cuda_driver_version": "cuda_driver"}


class KinetoImporter(Importer):
    """Traces of PyTorch's profiler: a file, or a folder with many ranks, optionally gzipped.

    Steps come from `profiler.step()`; without it, a step ends with its optimizer step.
    """

    def read(self, source: Source, intake: Intake) -> None:
        with intake.open(source) as file:
            try:
                trace = decode_trace(file)
            except (DamagedError, OverflowError) as error:  # OverflowError: impossible times
                raise DamagedError(f"Cannot read {source.path} from byte 0: {error}") from error
        trace = _without_outliers(trace, intake)
        if not len(trace):
            raise DamagedError(
                f"{source.path} has no operations, only {_listed(trace.other_events)}"
            )
        if trace.is_truncated:
            offset = pluralize(source.path.stat().st_size, "byte")
            intake.remarks.append(f"{source.path} is truncated after {offset}")
        first_ns, last_ns = int(trace.start_ns[0]), int(trace.start_ns[-1])
        shift_ns = intake.shift_ns(source.path, first_ns, last_ns)
        trace = replace(trace, start_ns=trace.start_ns + shift_ns)
        rows = intake.worker(_worker_of(source, trace))
        for batch in trace.batches():
            rows.add(OPERATIONS, batch.columns)
        intake.left_out["unreadable events"] += trace.left_out
        for letter, count in trace.other_events.items():
            if letter not in _ARROWS:
                intake.left_out[kind_of(letter)] += count
        add_training(rows, find_training(_operations(trace)))


def _without_outliers(trace: Trace, intake: Intake) -> Trace:
    """Drop operations with impossible times, which would extend the job by years."""
    middle_ns = trace.start_ns[len(trace) // 2 : len(trace) // 2 + 1]
    away_ns = np.abs(trace.start_ns - middle_ns)
    is_possible = (away_ns < _YEAR_NS) & (trace.duration_ns < _YEAR_NS)
    intake.left_out["events without a time"] += int((~is_possible).sum())
    if is_possible.all():
        return trace
    return replace(
        trace,
        **{
            column.name: getattr(trace, column.name)[is_possible]
            for column in fields(trace)
            if isinstance(getattr(trace, column.name), np.ndarray)
        },
    )


def _worker_of(source: Source, trace: Trace) -> WorkerDescription:
    """Facts about the worker, from the trace and its file name."""
    facts = trace.metadata
    group = facts.get("distributedInfo")
    group = group if isinstance(group, dict) else {}
    used = sorted({trace.devices[lane] for lane in set(trace.lane.tolist())} - {"cpu"})
    return WorkerDescription(
        rank=_integer(group.get("rank"), source.rank),
        node=source.node,
        world_size=max(1, _integer(group.get("world_size"), 1)),
        pid=source.pid,
        device=used[0] if used else "cpu",
        framework="torch",
        versions={
            recorded_name: _version(facts[name])
            for name, recorded_name in _VERSIONS.items()
            if name in facts
        },
        machine=_machine(facts),
    )


def _machine(facts: Mapping[str, Any]) -> dict[str, str]:
    properties = facts.get("deviceProperties")
    devices = properties if isinstance(properties, list) else []
    names = [str(device.get("name")) for device in devices if isinstance(device, dict)]
    listed = ", ".join(f"{count} × {name}" for name, count in Counter(names).items())
    return {"gpus": listed} if listed else {}


def _version(number: object) -> str:
    """Format a CUDA version: 12040 is 12.4."""
    version = _integer(number, 0)
    return f"{version // 1000}.{version % 1000 // 10}"


def _integer(value: object, default: int) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else default


def _operations(trace: Trace) -> Operations:
    lanes = trace.lane.tolist()
    return Operations(
        [trace.names[number] for number in trace.name.tolist()],
        [trace.lanes[number] for number in lanes],
        [trace.devices[number] for number in lanes],
        trace.start_ns,
        trace.duration_ns,
        trace.sequence,
    )


def _listed(counts: Counter[str]) -> str:
    return (
        ", ".join(f"{kind_of(letter)} ({format_count(count)})" for letter, count in counts.items())
        or "nothing"
    )
