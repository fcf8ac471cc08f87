"""Collectives of one worker: those that Python called, and those that a trace holds.

A profiler of ours tells calls with their groups and bytes. In a trace they are rows of gloo's own
threads, or kernels of NCCL; what only announces them there is left out.
"""

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.profiles import operations_of, steps_of
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.profile import NO_CORRELATION, OperationCategory
from sonde.records.ranges import ANY_STEP, EVER, StepRange, TimeRange
from sonde.records.step import NO_STEP
from sonde.store.tables import inside_of, to_numpy

UNKNOWN = -1
_LONGEST_STEP_NS = 600 * NANOSECONDS
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
    """What was called, and with whom; the times stand in arrays beside it."""

    name: str
    group: str
    size: int
    bytes: int  # that this worker gave; UNKNOWN
    is_async: bool
    exposed_ns: int  # of the training thread; UNKNOWN in a trace, where it is seen from the others
    source: str  # calls, gloo, nccl, or other
    device: str


@dataclass(frozen=True)
class Calls:
    """The collectives of one worker, in order."""

    worker: int
    node: str
    calls: tuple[Call, ...]
    starts_ns: Numbers
    ends_ns: Numbers
    steps: Numbers
    lives: Numbers

    def __len__(self) -> int:
        return len(self.calls)

    def within(self, steps: StepRange) -> "Calls":
        """Those of some training steps."""
        if steps == ANY_STEP:
            return self
        kept = np.flatnonzero(inside_of(self.steps, steps.start, steps.end) & (self.steps >= 0))
        return Calls(
            self.worker,
            self.node,
            tuple(self.calls[place] for place in kept.tolist()),
            self.starts_ns[kept],
            self.ends_ns[kept],
            self.steps[kept],
            self.lives[kept],
        )


def read_collectives(reader: WorkerReader, within: TimeRange = EVER) -> Calls:
    """All that a worker recorded, whoever saw them."""
    wanted: dict[str, Container[str]] = {
        _COLLECTIVE: _Names(lambda name: not _ANNOUNCED.match(name)),
        _KERNEL: _Names(lambda name: name.startswith(_NCCL)),
    }
    rows = []
    for category, names in wanted.items():
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
    reader: WorkerReader, rows: Sequence[Mapping[str, Any]], starts_ns: Numbers
) -> Numbers:
    """When the host asked for each: a device may do it steps later, and not all do it alike."""
    wanted = {row["correlation"] for row in rows} - {NO_CORRELATION}
    if not wanted:
        return starts_ns
    within = TimeRange(int(starts_ns.min()) - _LONGEST_STEP_NS, int(starts_ns.max()) + 1)
    only = {"category": {OperationCategory.RUNTIME.value}}
    table = operations_of(reader, within, ("correlation", "start_ns"), only)
    numbers, times_ns = to_numpy(table["correlation"]), to_numpy(table["start_ns"])
    called = dict(zip(numbers.tolist(), times_ns.tolist(), strict=True))
    own = zip(rows, starts_ns.tolist(), strict=True)
    return np.array([called.get(row["correlation"], start) for row, start in own], dtype=np.int64)


def node_of(reader: WorkerReader) -> str:
    """Where a worker ran last."""
    return reader.lives[-1].info.node if reader.lives else ""


def steps_at(reader: WorkerReader, instants_ns: Numbers) -> Numbers:
    """The training step that each instant lies in, or NO_STEP."""
    if not len(instants_ns):
        return np.empty(0, dtype=np.int64)
    first_ns, last_ns = int(instants_ns.min()), int(instants_ns.max())
    steps = steps_of(reader, TimeRange(first_ns - _LONGEST_STEP_NS, last_ns + 1))
    return np.append(steps.steps, NO_STEP)[steps.at(instants_ns)]


class _Names:
    """The names that fit; each is asked about once."""

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
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _operation(name: str, detail: Mapping[str, Any]) -> str:
    """The one name of an operation, whoever tells it."""
    kernel = _NCCL_KERNEL.match(name)
    said = str(detail.get("collective") or (kernel[1] if kernel else name))
    said = _WORDS.sub("_", said.removeprefix(_GLOO)).lower().strip("_")
    joined = said.replace("_", "")
    return next((word for part, word in _JOINED.items() if joined.startswith(part)), said)


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
