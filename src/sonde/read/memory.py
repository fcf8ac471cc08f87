"""Memory allocated and freed in memory profiling windows, by device and module."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.errors import KeyMissingError
from sonde.read.profiles import Intervals
from sonde.read.workers import WorkerReader
from sonde.records.arrays import IntArray
from sonde.records.profile import ProfileKind
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.traces.allocations import MemoryChange, ModuleCall, decode_memory_trace


@dataclass(frozen=True)
class DeviceChanges:
    """Allocations and frees on one device, in order of time."""

    device: str
    before_bytes: int | None  # allocated before the window began, if known
    times_ns: IntArray
    sizes: IntArray  # in bytes; negative for frees
    inside: IntArray  # index of the innermost module call; -1 outside of all
    is_held: npt.NDArray[np.bool_]  # allocated and not freed by the window's end


@dataclass(frozen=True)
class MemoryWindow:
    """One memory profiling window."""

    first_step: int
    start_ns: int
    end_ns: int
    calls: Intervals  # of modules
    devices: tuple[DeviceChanges, ...]


def read_memory_windows(reader: WorkerReader) -> tuple[MemoryWindow, ...]:
    """All memory windows of a worker, in order."""
    windows = [_read(reader.backend, key) for key in _keys(reader)]
    readable = [window for window in windows if window is not None]
    return tuple(sorted(readable, key=lambda item: item.start_ns))


def _keys(reader: WorkerReader) -> Iterator[str]:
    first = layout.profile_key(reader.rank, ProfileKind.MEMORY.value, 0, "")
    folder, _, name = first.rpartition("/")
    kind = f"{folder}/{name.partition('-')[0]}-"
    for entry in reader.backend.entries(folder):
        if entry.key.startswith(kind) and entry.key.endswith(layout.TRACE_FACTS_SUFFIX):
            yield entry.key.removesuffix(layout.TRACE_FACTS_SUFFIX)


def _read(backend: Backend, key: str) -> MemoryWindow | None:
    """One window; None if its trace was removed to free disk space."""
    try:
        facts = json.loads(backend.read(key + layout.TRACE_FACTS_SUFFIX))
        trace = decode_memory_trace(backend.read(key + layout.TRACE_SUFFIX))
    except KeyMissingError:
        return None
    anchors = [(trace.anchors[name], job_ns) for name, job_ns in facts["anchors"]]
    calls = sorted(trace.calls, key=lambda call: (call[0], -call[1]))
    before: Mapping[str, int] = facts.get("before_bytes", {})
    window = facts["window"]
    return MemoryWindow(
        window["first_step"],
        window["start_ns"],
        window["end_ns"],
        _call_intervals(calls, anchors),
        tuple(
            _device(device, before.get(device), sorted(changes, key=itemgetter(0)), calls, anchors)
            for device, changes in sorted(trace.changes.items())
        ),
    )


def _on_clock(trace_times: IntArray, anchors: Sequence[tuple[int, int]]) -> IntArray:
    (first, job_ns), (last, job_last_ns) = anchors[0], anchors[-1]
    rate = (job_last_ns - job_ns) / (last - first) if last > first else 1.0
    since = trace_times - first
    corrected: IntArray = job_ns + since + np.rint(since * (rate - 1.0)).astype(np.int64)
    return corrected


def _call_intervals(calls: Sequence[ModuleCall], anchors: Sequence[tuple[int, int]]) -> Intervals:
    return Intervals(
        tuple(call[3] for call in calls),
        np.zeros(len(calls), dtype=np.int64),
        _on_clock(_column(calls, 0), anchors),
        _on_clock(_column(calls, 1), anchors),
    )


def _device(
    device: str,
    before_bytes: int | None,
    changes: Sequence[MemoryChange],
    calls: Sequence[ModuleCall],
    anchors: Sequence[tuple[int, int]],
) -> DeviceChanges:
    trace_times, threads = _column(changes, 0), _column(changes, 2)
    inside = np.full(len(changes), -1, dtype=np.int64)
    for thread in {call[2] for call in calls}:
        indices = np.array([index for index, call in enumerate(calls) if call[2] == thread])
        thread_calls = [calls[index] for index in indices.tolist()]
        names = tuple(call[3] for call in thread_calls)
        intervals = Intervals(
            names,
            np.zeros(len(thread_calls), dtype=np.int64),
            _column(thread_calls, 0),
            _column(thread_calls, 1),
        )
        of_thread = np.flatnonzero(threads == thread)
        innermost = intervals.at(trace_times[of_thread])
        inside[of_thread] = np.where(innermost >= 0, indices[innermost], -1)
    sizes = _column(changes, 1)
    is_held = _are_held(sizes, _column(changes, 3))
    return DeviceChanges(
        device, before_bytes, _on_clock(trace_times, anchors), sizes, inside, is_held
    )


def _are_held(sizes: IntArray, addresses: IntArray) -> npt.NDArray[np.bool_]:
    """Which changes, in order of time, are allocations that are never freed."""
    order = np.lexsort((np.arange(len(sizes)), addresses))
    is_last = np.append(addresses[order][1:] != addresses[order][:-1], True)[: len(sizes)]
    is_held = np.zeros(len(sizes), dtype=np.bool_)
    is_held[order] = is_last & (sizes[order] > 0)
    return is_held


def _column(rows: Sequence[tuple[Any, ...]], index: int) -> IntArray:
    return np.array([row[index] for row in rows], dtype=np.int64)
