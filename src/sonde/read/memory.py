"""What was allocated and freed while windows of memory were open, by device and by module."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.errors import KeyMissingError
from sonde.read.profiles import Stretches
from sonde.read.workers import Numbers, WorkerReader
from sonde.records.profile import ProfileKind
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.traces.allocations import MemoryChange, ModuleCall, decode_memory_trace


@dataclass(frozen=True)
class DeviceChanges:
    """What was allocated and freed on a device, in order of time."""

    device: str
    before_bytes: int | None  # that were live when the window began, where that is known
    times_ns: Numbers
    sizes: Numbers  # in bytes; of what was freed, negative
    inside: Numbers  # the innermost call of a module, by its place; -1 outside of all
    is_held: npt.NDArray[np.bool_]  # was allocated, and is still there at the window's end


@dataclass(frozen=True)
class MemoryWindow:
    """What one window saw."""

    first_step: int
    start_ns: int
    end_ns: int
    calls: Stretches  # of modules
    devices: tuple[DeviceChanges, ...]


def read_memory_windows(reader: WorkerReader) -> tuple[MemoryWindow, ...]:
    """All windows of memory of a worker, in order."""
    windows = [_read(reader.backend, key) for key in _keys(reader)]
    found = [window for window in windows if window is not None]
    return tuple(sorted(found, key=lambda one: one.start_ns))


def _keys(reader: WorkerReader) -> Iterator[str]:
    first = layout.profile_key(reader.rank, ProfileKind.MEMORY.value, 0, "")
    folder, _, name = first.rpartition("/")
    kind = f"{folder}/{name.partition('-')[0]}-"
    for entry in reader.backend.entries(folder):
        if entry.key.startswith(kind) and entry.key.endswith(layout.TRACE_FACTS_SUFFIX):
            yield entry.key.removesuffix(layout.TRACE_FACTS_SUFFIX)


def _read(backend: Backend, key: str) -> MemoryWindow | None:
    """One window; None where its trace had to make room."""
    try:
        facts = json.loads(backend.read(key + layout.TRACE_FACTS_SUFFIX))
        trace = decode_memory_trace(backend.read(key + layout.TRACE_SUFFIX))
    except KeyMissingError:
        return None
    anchors = [(trace.anchors[name], ours) for name, ours in facts["anchors"]]
    calls = sorted(trace.calls, key=lambda call: (call[0], -call[1]))
    before: Mapping[str, int] = facts.get("before_bytes", {})
    window = facts["window"]
    return MemoryWindow(
        window["first_step"],
        window["start_ns"],
        window["end_ns"],
        _stretches(calls, anchors),
        tuple(
            _device(device, before.get(device), sorted(changes, key=itemgetter(0)), calls, anchors)
            for device, changes in sorted(trace.changes.items())
        ),
    )


def _on_clock(seen: Numbers, anchors: Sequence[tuple[int, int]]) -> Numbers:
    (first, ours), (last, ours_last) = anchors[0], anchors[-1]
    rate = (ours_last - ours) / (last - first) if last > first else 1.0
    since = seen - first
    moved: Numbers = ours + since + np.rint(since * (rate - 1.0)).astype(np.int64)
    return moved


def _stretches(calls: Sequence[ModuleCall], anchors: Sequence[tuple[int, int]]) -> Stretches:
    return Stretches(
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
    seen, threads = _column(changes, 0), _column(changes, 2)
    inside = np.full(len(changes), -1, dtype=np.int64)
    for thread in {call[2] for call in calls}:
        places = np.array([place for place, call in enumerate(calls) if call[2] == thread])
        own = [calls[place] for place in places.tolist()]
        names = tuple(call[3] for call in own)
        stretches = Stretches(
            names, np.zeros(len(own), dtype=np.int64), _column(own, 0), _column(own, 1)
        )
        of_thread = np.flatnonzero(threads == thread)
        innermost = stretches.at(seen[of_thread])
        inside[of_thread] = np.where(innermost >= 0, places[innermost], -1)
    sizes = _column(changes, 1)
    is_held = _are_held(sizes, _column(changes, 3))
    return DeviceChanges(device, before_bytes, _on_clock(seen, anchors), sizes, inside, is_held)


def _are_held(sizes: Numbers, addresses: Numbers) -> npt.NDArray[np.bool_]:
    """Which changes, in order of time, allocate what no later one frees."""
    order = np.lexsort((np.arange(len(sizes)), addresses))
    is_last = np.append(addresses[order][1:] != addresses[order][:-1], True)[: len(sizes)]
    is_held = np.zeros(len(sizes), dtype=np.bool_)
    is_held[order] = is_last & (sizes[order] > 0)
    return is_held


def _column(rows: Sequence[tuple[Any, ...]], place: int) -> Numbers:
    return np.array([row[place] for row in rows], dtype=np.int64)
