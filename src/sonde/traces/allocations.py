"""Decode the allocations, module calls and clock anchors of a memory profile's trace."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sonde.traces.stream import TraceStream

_CHANGE = "[memory]"
_MODULE = "sonde.module."
_ANCHOR = "sonde.anchor."
_DEVICES = {0: "cpu", 1: "cuda:{}"}
_MICROSECOND_NS = 1000


class MemoryChange(NamedTuple):
    """One allocation (positive) or free (negative), on the trace's clock."""

    time_ns: int
    size_bytes: int
    thread: int
    address: int


class ModuleCall(NamedTuple):
    """One call of a module's forward pass, on the trace's clock."""

    start_ns: int
    end_ns: int
    thread: int
    module: str


@dataclass(slots=True)
class MemoryTrace:
    """What a memory profile's trace holds, on the trace's clock."""

    changes: dict[str, list[MemoryChange]] = field(default_factory=dict)  # by device
    calls: list[ModuleCall] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)


def decode_memory_trace(source: bytes | Path | BinaryIO) -> MemoryTrace:
    """Decode the trace of one memory window."""
    trace = MemoryTrace()
    for _, listed in TraceStream(source).chunks():
        for event in json.loads(listed):
            name = str(event.get("name", ""))
            if name == _CHANGE:
                trace.changes.setdefault(_device(event), []).append(_change(event))
            elif name.startswith(_MODULE):
                start_ns, end_ns, thread = _extent(event)
                call = ModuleCall(start_ns, end_ns, thread, name.removeprefix(_MODULE))
                trace.calls.append(call)
            elif name.startswith(_ANCHOR):
                start_ns, end_ns, _ = _extent(event)
                trace.anchors[name] = (start_ns + end_ns) // 2
    return trace


def _device(event: Mapping[str, Any]) -> str:
    kind, number = int(event["args"]["Device Type"]), int(event["args"]["Device Id"])
    return _DEVICES.get(kind, f"device {kind}:{{}}").format(number)


def _change(event: Mapping[str, Any]) -> MemoryChange:
    start_ns, _, thread = _extent(event)
    arguments = event["args"]
    return MemoryChange(start_ns, int(arguments["Bytes"]), thread, int(arguments["Addr"]))


def _extent(event: Mapping[str, Any]) -> tuple[int, int, int]:
    """Start, end and thread of an event."""
    start_ns = round(float(event["ts"]) * _MICROSECOND_NS)
    duration_ns = round(float(event.get("dur", 0)) * _MICROSECOND_NS)
    return start_ns, start_ns + duration_ns, int(event["tid"])
