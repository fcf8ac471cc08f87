"""Collectives of one worker, from Python calls and from traces.

Sonde's profiler records calls with their groups and bytes. In a trace, collectives are rows of
gloo's threads or NCCL kernels; rows that only announce them are skipped.
"""

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.profiles import operations_of, steps_of
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.profile import NO_CORRELATION, OperationCategory
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import NO_STEP
from sonde.store.tables import inside_of, to_numpy

UNKNOWN = -1
_MAX_STEP_NS = 600 * NANOSECONDS
_COLUMNS = ("name", "device", "start_ns", "duration_ns", "correlation", "detail")
_COLLECTIVE, _KERNEL = OperationCategory.COLLECTIVE.value, OperationCategory.KERNEL.value
_GLOO, _NCCL = "gloo:", "nccl"
_ANNOUNCED = re.compile(r"record_param_comms|c10d::|c10d_functional::|nccl:")
_NCCL_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_(\w+?)(?:_|\(|$)")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_JOINED = {
    "allgather": "all_gather",
    "allreduce": "all_reduce",
    "alltoall": "all_to_all",
    "reducescatter": "reduce_scatter",
    "sendrecv": "send_recv",
}
_DTYPE_BYTES = {
    "bool": 1,
    "byte": 1,
    "char": 1,
    "short": 2,
    "half": 2,
    "bfloat16": 2,
    "double": 8,
    "long": 8,
}


@dataclass(frozen=True)
class Call:
    """One collective; its times are in the arrays of `Calls`."""

    name: str
    group: str
    size: int
    bytes: int  # sent by this worker, or UNKNOWN
    is_async: bool
    exposed_ns: int  # time the training thread was blocked; UNKNOWN in traces
    source: str  # calls, gloo, nccl, or other
    device: str


@dataclass(frozen=True)
class Calls:
    """The collectives of one worker, in order of time."""

    worker: int
    node: str
    calls: tuple[Call, ...]
    starts_ns: IntArray
    ends_ns: IntArray
    steps: IntArray
    lives: IntArray

    def __len__(self) -> int:
        return len(self.calls)

    def within(self, steps: StepRange) -> "Calls":
        """The collectives of a range of training steps."""
        if steps == ANY_STEP:
            return self
        selected = np.flatnonzero(inside_of(self.steps, steps.start, steps.end) & (self.steps >= 0))
        return Calls(
            self.worker,
            self.node,
            tuple(self.calls[index] for index in selected.tolist()),
            self.starts_ns[selected],
            self.ends_ns[selected],
            self.steps[selected],
            self.lives[selected],
        )


def read_collectives(reader: WorkerReader, within: TimeRange = EVER) -> Calls:
    """All collectives that a worker recorded."""
    names_by_category: dict[str, Container[str]] = {
        _COLLECTIVE: _Names(lambda name: not _ANNOUNCED.match(name)),
        _KERNEL: _Names(lambda name: name.startswith(_NCCL)),
    }
    rows = []
    for category, names in names_by_category.items():
        only: dict[str, Container[str]] = {"category": {category}, "name": names}
        rows += operations_of(reader, within, _COLUMNS, only).to_pylist()
    rows.sort(key=lambda row: int(row["start_ns"]))
    starts_ns = np.array([row["start_ns"] for row in rows], dtype=np.int64)
    ends_ns = starts_ns + np.array([row["duration_ns"] for row in rows], dtype=np.int64)
    return Calls(
        reader.rank,
        node_of(reader),
        tuple(_call(row) for row in rows),
        starts_ns,
        ends_ns,
        steps_at(reader, _called_ns(reader, rows, starts_ns)),
        reader.lives_of(ends_ns),
    )


def _called_ns(
    reader: WorkerReader, rows: Sequence[Mapping[str, Any]], starts_ns: IntArray
) -> IntArray:
    """When the CPU launched each collective; the device may run it steps later."""
    correlations = {row["correlation"] for row in rows} - {NO_CORRELATION}
    if not correlations:
        return starts_ns
    within = TimeRange(int(starts_ns.min()) - _MAX_STEP_NS, int(starts_ns.max()) + 1)
    only = {"category": {OperationCategory.RUNTIME.value}}
    table = operations_of(reader, within, ("correlation", "start_ns"), only)
    numbers, times_ns = to_numpy(table["correlation"]), to_numpy(table["start_ns"])
    called = dict(zip(numbers.tolist(), times_ns.tolist(), strict=True))
    pairs = zip(rows, starts_ns.tolist(), strict=True)
    return np.array([called.get(row["correlation"], start) for row, start in pairs], dtype=np.int64)


def node_of(reader: WorkerReader) -> str:
    """The node on which a worker ran last."""
    return reader.lives[-1].info.node if reader.lives else ""


def steps_at(reader: WorkerReader, instants_ns: IntArray) -> IntArray:
    """The training step of each instant, or NO_STEP."""
    if not len(instants_ns):
        return np.empty(0, dtype=np.int64)
    first_ns, last_ns = int(instants_ns.min()), int(instants_ns.max())
    steps = steps_of(reader, TimeRange(first_ns - _MAX_STEP_NS, last_ns + 1))
    return np.append(steps.steps, NO_STEP)[steps.at(instants_ns)]


class _Names:
    """The names that satisfy a predicate."""

    def __init__(self, fits: Callable[[str], bool]) -> None:
        self._fits = fits

    def __contains__(self, name: object) -> bool:
        return self._fits(str(name))


def _call(row: Mapping[str, Any]) -> Call:
    name, detail = str(row["name"]), _detail(row["detail"])
    if "call_ns" in detail:
        exposed_ns = detail["call_ns"] + (detail.get("wait_ns", 0) if detail.get("async") else 0)
        return Call(
            name,
            str(detail.get("group", "")),
            int(detail.get("size", 0)),
            int(detail.get("bytes", UNKNOWN)),
            bool(detail.get("async")),
            int(exposed_ns),
            "calls",
            str(row["device"]),
        )
    source = "gloo" if name.startswith(_GLOO) else "nccl" if name.startswith(_NCCL) else "other"
    return Call(
        _operation(name, detail),
        str(detail.get("group", "")),
        _integer(detail.get("group_size"), 0),
        _message_bytes(detail),
        True,
        UNKNOWN,
        source,
        str(row["device"]),
    )


def _detail(text: str) -> dict[str, Any]:
    try:
        detail = json.loads(text) if text else {}
    except ValueError:
        return {}
    return detail if isinstance(detail, dict) else {}


def _operation(name: str, detail: Mapping[str, Any]) -> str:
    """The normalized name of an operation, independent of the backend."""
    kernel = _NCCL_KERNEL.match(name)
    label = str(detail.get("collective") or (kernel[1] if kernel else name))
    label = _WORDS.sub("_", label.removeprefix(_GLOO)).lower().strip("_")
    joined = label.replace("_", "")
    return next((word for prefix, word in _JOINED.items() if joined.startswith(prefix)), label)


def _message_bytes(detail: Mapping[str, Any]) -> int:
    elements = _integer(detail.get("elements_in"), UNKNOWN)
    if elements < 0:
        return UNKNOWN
    return elements * _DTYPE_BYTES.get(str(detail.get("dtype", "")).lower(), 4)


def _integer(value: Any, otherwise: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return otherwise
