"""Recorded activity of a worker's data loaders, loader by loader."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sonde.analyze.durations import time_percent
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable, read_steps
from sonde.read.workers import WorkerReader
from sonde.records.arrays import BoolArray, FloatArray, IntArray
from sonde.records.loading import IteratorStart, LoaderFacts, LoaderRecord, Operation
from sonde.records.profile import OperationCategory
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import EventCategory, Mode, Phase
from sonde.store.format import EVENTS, OPERATIONS
from sonde.store.tables import to_numpy

_LANE = re.compile(r"loader (?P<number>\d+)(?: process (?P<process>\d+))?")
_LOADER_OPERATIONS = (
    *(Operation.BATCH, Operation.ITEMS, Operation.ITEM, Operation.LONGEST_ITEM),
    *(Operation.COLLATION, Operation.IDLE, Operation.PINNING),
)


@dataclass
class _Rows:
    """The rows of one loader, in order of time."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    starts: list[tuple[int, float]] = field(default_factory=list)  # time, seconds
    seconds: dict[str, list[float]] = field(default_factory=dict)
    worked_ns: int = 0  # by loader processes, in batches whose successor is recorded
    ends_ns: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # duration and end of each process's latest batch
    stacks: dict[tuple[str, ...], float] = field(default_factory=dict)
    computed: list[tuple[float, float]] = field(default_factory=list)  # CPU seconds, seconds


@dataclass(frozen=True)
class _Waits:
    """Waits for batches of one mode, in order of time."""

    starts_ns: IntArray
    seconds: FloatArray
    steps: IntArray
    mode: str = ""

    def take(self, which: IntArray | BoolArray) -> "_Waits":
        """A subset of the waits."""
        return replace(
            self,
            starts_ns=self.starts_ns[which],
            seconds=self.seconds[which],
            steps=self.steps[which],
        )


def read_loaders(reader: WorkerReader, within: TimeRange = EVER) -> tuple[LoaderRecord, ...]:
    """The loaders of one worker, in order of first use."""
    loaders, pinnings = _rows_of(reader, within)
    waits = _assign_waits(loaders, [_waits(reader, mode.value, within) for mode in Mode])
    return tuple(
        _record(reader, number, rows, waits[number], (pinnings, within))
        for number, rows in sorted(loaders.items())
    )


def _rows_of(
    reader: WorkerReader, within: TimeRange = EVER
) -> tuple[dict[int, _Rows], list[float]]:
    """The rows of each loader, and the pinning times of all loaders."""
    only = {"category": (OperationCategory.LOADING.value,)}
    rows = reader.folder(OPERATIONS).rows(within, only=only).to_pylist()
    loaders: dict[int, _Rows] = {}
    pinnings: list[float] = []
    for row in sorted(rows, key=lambda row: int(row["start_ns"])):
        match = _LANE.fullmatch(row["lane"])
        if match is not None:
            _add_row(row, match["process"], loaders.setdefault(int(match["number"]), _Rows()))
        elif row["name"] == Operation.PINNING:
            pinnings.append(_seconds(row))
    return loaders, pinnings


def read_iterator_starts(
    reader: WorkerReader, within: TimeRange
) -> tuple[tuple[int, LoaderFacts], ...]:
    """When iterators of a worker's loaders started, and the settings of these loaders."""
    only = {"category": (OperationCategory.LOADING.value,), "name": (Operation.START.value,)}
    rows = reader.folder(OPERATIONS).rows(within, only=only).to_pylist()
    ordered = sorted(rows, key=lambda row: int(row["start_ns"]))
    return tuple((row["start_ns"], _facts(_detail(row))) for row in ordered)


def _add_row(row: dict[str, Any], process: str | None, rows: _Rows) -> None:
    """Add one row to the rows of its loader."""
    if row["name"] == Operation.START:
        rows.starts.append((row["start_ns"], _seconds(row)))
        rows.facts = _detail(row)
        return
    if row["name"] == Operation.WAIT:
        return  # events contain all waits
    rows.seconds.setdefault(row["name"], []).append(_seconds(row))
    facts = _detail(row)
    if row["name"] == Operation.BATCH:
        if process is not None:
            _add_idle_time(row, process, rows, is_next="gap" not in facts)
        if "cpu_seconds" in facts:
            rows.computed.append((facts["cpu_seconds"], _seconds(row)))
        for stack, spent_ns in facts.get("stacks", ()):
            key = tuple(stack)
            rows.stacks[key] = rows.stacks.get(key, 0.0) + spent_ns / NANOSECONDS
    elif row["name"] == Operation.ITEMS and facts.get("calls"):
        mean_ns, longest_ns = facts["items_ns"] / facts["calls"], facts["longest_ns"]
        rows.seconds.setdefault(Operation.ITEM.value, []).append(mean_ns / NANOSECONDS)
        rows.seconds.setdefault(Operation.LONGEST_ITEM.value, []).append(longest_ns / NANOSECONDS)


def _add_idle_time(row: dict[str, Any], process: str, rows: _Rows, *, is_next: bool) -> None:
    """Add the idle time of a process before this batch, if its previous batch is recorded."""
    duration_ns, end_ns = rows.ends_ns.get(process, (0, 0))
    if is_next and end_ns:
        idle = (row["start_ns"] - end_ns) / NANOSECONDS
        rows.seconds.setdefault(Operation.IDLE.value, []).append(max(0.0, idle))
        rows.worked_ns += duration_ns
    rows.ends_ns[process] = row["duration_ns"], row["start_ns"] + row["duration_ns"]


def _waits(
    reader: WorkerReader, mode: str, within: TimeRange, phase: Phase = Phase.DATA_WAIT
) -> _Waits:
    """The phases of one kind in steps of a mode."""
    only = {
        "name": (phase.value,),
        "category": (EventCategory.PHASE.value,),
        "mode": (mode,),
    }
    columns = ("start_ns", "duration_ns", "step")
    rows = reader.folder(EVENTS).rows(within, columns=columns, only=only)
    starts_ns, durations_ns, steps = (to_numpy(rows[name]) for name in columns)
    waits = _Waits(starts_ns, durations_ns / NANOSECONDS, steps, mode)
    return waits.take(np.argsort(starts_ns, kind="stable"))


def _assign_waits(loaders: Mapping[int, _Rows], waits: Sequence[_Waits]) -> dict[int, _Waits]:
    """Assign waits to loaders, since events do not name the loader.

    A loader serves the mode of the first wait after most of its starts. If several loaders serve
    the same mode, a wait belongs to the one whose iterator started last.
    """
    serving: dict[str, list[tuple[int, int]]] = {mode_waits.mode: [] for mode_waits in waits}
    for number, rows in loaders.items():
        starts_ns = [start_ns for start_ns, _ in rows.starts]
        modes = Counter(_next_mode(start_ns, waits) for start_ns in starts_ns)
        mode = modes.most_common(1)[0][0] if modes else Mode.TRAIN.value
        serving[mode] += [(start_ns, number) for start_ns in starts_ns]
    by_loader = {number: waits[0].take(np.empty(0, dtype=np.int64)) for number in loaders}
    for mode_waits in waits:
        starts = sorted(serving[mode_waits.mode])
        if starts:
            times = np.array([start_ns for start_ns, _ in starts], dtype=np.int64)
            indices = np.searchsorted(times, mode_waits.starts_ns, side="right") - 1
            numbers = np.array([number for _, number in starts], dtype=np.int64)
            for number in {number for _, number in starts}:
                by_loader[number] = mode_waits.take((indices >= 0) & (numbers[indices] == number))
    return by_loader


def _next_mode(time_ns: int, waits: Sequence[_Waits]) -> str:
    """The mode of the first wait after an instant."""
    first = {}
    for mode_waits in waits:
        index = int(np.searchsorted(mode_waits.starts_ns, time_ns))
        if index < len(mode_waits.starts_ns):
            first[mode_waits.mode] = int(mode_waits.starts_ns[index])
    return min(first, key=lambda mode: first[mode], default=Mode.TRAIN.value)


def _record(
    reader: WorkerReader,
    number: int,
    rows: _Rows,
    waits: _Waits,
    context: tuple[Sequence[float], TimeRange],
) -> LoaderRecord:
    pinnings, within = context
    facts = _facts(rows.facts)
    starts, is_first = _starts_of(rows, waits, facts.processes)
    steps = read_steps(reader, waits.mode, within=within)
    later = waits.take(~is_first & ~np.isin(waits.steps, steps.steps[~steps.is_representative]))
    computed, waited, batches = _step_times(steps, waits.steps[is_first])
    seconds: dict[str, Sequence[float]] = {
        name.value: rows.seconds.get(name.value, []) for name in _LOADER_OPERATIONS
    }
    seconds[Operation.WAIT.value] = later.seconds.tolist()
    transfers = _waits(reader, waits.mode, within, Phase.HOST_TO_DEVICE)
    seconds[Operation.TRANSFER.value] = transfers.seconds.tolist()
    if facts.is_pinning:
        seconds[Operation.PINNING.value] = pinnings
    return LoaderRecord(
        worker=reader.rank,
        number=number,
        device=reader.lives[-1].info.device if reader.lives else "cpu",
        facts=facts,
        mode=waits.mode,
        starts=starts,
        seconds=seconds,
        wait_steps=later.steps.tolist(),
        wait_times_ns=later.starts_ns.tolist(),
        cpu_percent=_cpu_percent(rows.computed),
        busy_percent=_busy_percent(rows),
        stacks=tuple(rows.stacks.items()),
        step_seconds=computed.tolist(),
        step_waits=waited.tolist(),
        batches_per_step=batches,
        waited_percent=_waited_percent(steps),
    )


def _waited_percent(steps: StepTable) -> float | None:
    """The data wait of all unprofiled steps of a mode, as in the time by phase."""
    is_counted = steps.is_representative
    if not is_counted.any():
        return None
    waited_ns = steps.phases_ns[Phase.DATA_WAIT.value]
    return time_percent(waited_ns[is_counted], steps.durations_ns[is_counted])


def _step_times(steps: StepTable, first_steps: IntArray) -> tuple[FloatArray, FloatArray, float]:
    """Compute time and data wait of each step in seconds, and batches per step.

    Profiled steps are excluded; so are steps in which an iterator started, unless there are no
    others. Evaluations and checkpoints do not count as compute time.
    """
    is_steady = steps.is_representative & ~np.isin(steps.steps, first_steps)
    is_steady = is_steady if is_steady.any() else steps.is_representative
    phases = {name: durations_ns[is_steady] for name, durations_ns in steps.phases_ns.items()}
    waited_ns = phases[Phase.DATA_WAIT.value]
    excluded_ns = phases[Phase.EVALUATION.value] + phases[Phase.CHECKPOINT.value]
    computed_ns = steps.durations_ns[is_steady] - waited_ns - excluded_ns
    batches = float(steps.micro_steps[is_steady].mean()) if is_steady.any() else 1.0
    return computed_ns / NANOSECONDS, waited_ns / NANOSECONDS, batches


def _starts_of(rows: _Rows, waits: _Waits, processes: int) -> tuple[list[IteratorStart], BoolArray]:
    """Iterator starts with their first waits (one per process), and a mask of these waits."""
    times = np.array([start_ns for start_ns, _ in rows.starts], dtype=np.int64)
    firsts = np.searchsorted(waits.starts_ns, times)
    ends = np.append(firsts[1:], len(waits.starts_ns))[: len(firsts)]
    last_rows = np.minimum(ends, firsts + max(1, processes))
    is_first = np.zeros(len(waits.starts_ns), dtype=np.bool_)
    starts = []
    for (start_ns, seconds), first, last in zip(rows.starts, firsts, last_rows, strict=True):
        is_first[first:last] = True
        waited = float(waits.seconds[first:last].sum())
        starts.append(IteratorStart(start_ns, seconds, waited))
    return starts, is_first


def _cpu_percent(computed: Sequence[tuple[float, float]]) -> float | None:
    total = sum(seconds for _, seconds in computed)
    return 100 * sum(cpu_seconds for cpu_seconds, _ in computed) / total if total else None


def _busy_percent(rows: _Rows) -> float | None:
    """The share of time that loader processes were busy."""
    worked = rows.worked_ns / NANOSECONDS
    return 100 * worked / (worked + sum(rows.seconds[Operation.IDLE.value])) if worked else None


def _facts(detail: Mapping[str, Any]) -> LoaderFacts:
    return LoaderFacts(
        processes=int(detail.get("num_workers") or 0),
        batch_size=detail.get("batch_size"),
        is_pinning=bool(detail.get("pin_memory")),
        prefetched=detail.get("prefetch_factor"),
        keeps_processes=bool(detail.get("persistent_workers")),
        start_method=detail.get("start_method"),
        dataset=str(detail.get("dataset", "")),
        collation=str(detail.get("collate", "")),
        cores=int(detail.get("cores") or 1),
    )


def _seconds(row: Mapping[str, Any]) -> float:
    return float(row["duration_ns"]) / NANOSECONDS


def _detail(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        detail = json.loads(row["detail"]) if row["detail"] else {}
    except ValueError:
        return {}
    return detail if isinstance(detail, dict) else {}
