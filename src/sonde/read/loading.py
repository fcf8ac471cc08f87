"""What was recorded of a worker's data loaders, loader by loader."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.steps import Seconds, StepTable, read_steps
from sonde.read.workers import Marks, Numbers, WorkerReader
from sonde.records.loading import IteratorStart, LoaderFacts, LoaderRecord, Operation
from sonde.records.profile import OperationCategory
from sonde.records.ranges import EVER, TimeRange
from sonde.records.step import EventCategory, Mode, Phase
from sonde.store.format import EVENTS, OPERATIONS
from sonde.store.tables import to_numpy

_LANE = re.compile(r"loader (?P<number>\d+)(?: process (?P<process>\d+))?")
_IN_A_ROW = (
    *(Operation.BATCH, Operation.ITEMS, Operation.ITEM, Operation.LONGEST_ITEM),
    *(Operation.COLLATION, Operation.IDLE, Operation.PINNING),
)


@dataclass
class _Rows:
    """The rows of one loader, in order of time."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    starts: list[tuple[int, float]] = field(default_factory=list)  # when, and how many seconds
    seconds: dict[str, list[float]] = field(default_factory=dict)
    worked_ns: int = 0  # by loader processes, in batches of which the next one is known as well
    ends_ns: dict[str, tuple[int, int]] = field(default_factory=dict)  # length, end of their latest
    stacks: dict[tuple[str, ...], float] = field(default_factory=dict)
    computed: list[tuple[float, float]] = field(default_factory=list)  # CPU seconds, seconds


@dataclass(frozen=True)
class _Waits:
    """Waits for batches, in order of time; of one mode where it says so."""

    starts_ns: Numbers
    seconds: Seconds
    steps: Numbers
    mode: str = ""

    def take(self, places: Numbers | Marks) -> "_Waits":
        """Some of them."""
        return replace(
            self,
            starts_ns=self.starts_ns[places],
            seconds=self.seconds[places],
            steps=self.steps[places],
        )


def read_loaders(reader: WorkerReader, within: TimeRange = EVER) -> tuple[LoaderRecord, ...]:
    """The loaders of one worker, in the order in which they were first used."""
    loaders, pinnings = _rows_of(reader, within)
    waits = _waits_of(loaders, [_waits(reader, mode.value, within) for mode in Mode])
    return tuple(
        _record(reader, number, one, waits[number], (pinnings, within))
        for number, one in sorted(loaders.items())
    )


def _rows_of(
    reader: WorkerReader, within: TimeRange = EVER
) -> tuple[dict[int, _Rows], list[float]]:
    """What was recorded of each loader, and how long pinning took, whosever batch it was."""
    only = {"category": (OperationCategory.LOADING.value,)}
    rows = reader.folder(OPERATIONS).rows(within, only=only).to_pylist()
    loaders: dict[int, _Rows] = {}
    pinnings: list[float] = []
    for row in sorted(rows, key=lambda row: int(row["start_ns"])):
        found = _LANE.fullmatch(row["lane"])
        if found is not None:
            _sort(row, found["process"], loaders.setdefault(int(found["number"]), _Rows()))
        elif row["name"] == Operation.PINNING:
            pinnings.append(_seconds(row))
    return loaders, pinnings


def read_iterator_starts(
    reader: WorkerReader, within: TimeRange
) -> tuple[tuple[int, LoaderFacts], ...]:
    """When iterators of a worker's loaders started, and what their loaders are like."""
    only = {"category": (OperationCategory.LOADING.value,), "name": (Operation.START.value,)}
    rows = reader.folder(OPERATIONS).rows(within, only=only).to_pylist()
    ordered = sorted(rows, key=lambda row: int(row["start_ns"]))
    return tuple((row["start_ns"], _facts(_detail(row))) for row in ordered)


def _sort(row: dict[str, Any], process: str | None, rows: _Rows) -> None:
    """Puts a row where it belongs."""
    if row["name"] == Operation.START:
        rows.starts.append((row["start_ns"], _seconds(row)))
        rows.facts = _detail(row)
        return
    if row["name"] == Operation.WAIT:
        return  # the events have all of them, also those of other steps
    rows.seconds.setdefault(row["name"], []).append(_seconds(row))
    facts = _detail(row)
    if row["name"] == Operation.BATCH:
        if process is not None:
            _follow(row, process, rows, is_next="gap" not in facts)
        if "cpu_seconds" in facts:
            rows.computed.append((facts["cpu_seconds"], _seconds(row)))
        for stack, spent_ns in facts.get("stacks", ()):
            key = tuple(stack)
            rows.stacks[key] = rows.stacks.get(key, 0.0) + spent_ns / NANOSECONDS
    elif row["name"] == Operation.ITEMS and facts.get("calls"):
        mean_ns, longest_ns = facts["items_ns"] / facts["calls"], facts["longest_ns"]
        rows.seconds.setdefault(Operation.ITEM.value, []).append(mean_ns / NANOSECONDS)
        rows.seconds.setdefault(Operation.LONGEST_ITEM.value, []).append(longest_ns / NANOSECONDS)


def _follow(row: dict[str, Any], process: str, rows: _Rows, *, is_next: bool) -> None:
    """How long a process was idle before this batch, where it is known what came before."""
    length_ns, end_ns = rows.ends_ns.get(process, (0, 0))
    if is_next and end_ns:
        idle = (row["start_ns"] - end_ns) / NANOSECONDS
        rows.seconds.setdefault(Operation.IDLE.value, []).append(max(0.0, idle))
        rows.worked_ns += length_ns
    rows.ends_ns[process] = row["duration_ns"], row["start_ns"] + row["duration_ns"]


def _waits(
    reader: WorkerReader, mode: str, within: TimeRange, phase: Phase = Phase.DATA_WAIT
) -> _Waits:
    """What steps of a mode waited for."""
    only = {
        "name": (phase.value,),
        "category": (EventCategory.PHASE.value,),
        "mode": (mode,),
    }
    columns = ("start_ns", "duration_ns", "step")
    rows = reader.folder(EVENTS).rows(within, columns=columns, only=only)
    starts_ns, lengths_ns, steps = (to_numpy(rows[name]) for name in columns)
    found = _Waits(starts_ns, lengths_ns / NANOSECONDS, steps, mode)
    return found.take(np.argsort(starts_ns, kind="stable"))


def _waits_of(loaders: Mapping[int, _Rows], waits: Sequence[_Waits]) -> dict[int, _Waits]:
    """Whose batch was waited for: an event does not say it.

    A loader serves the mode of the first wait after most of its starts; of several that serve the
    same one it is the one whose iterator started last.
    """
    serving: dict[str, list[tuple[int, int]]] = {one.mode: [] for one in waits}
    for number, rows in loaders.items():
        starts_ns = [start_ns for start_ns, _ in rows.starts]
        modes = Counter(_next_mode(start_ns, waits) for start_ns in starts_ns)
        mode = modes.most_common(1)[0][0] if modes else Mode.TRAIN.value
        serving[mode] += [(start_ns, number) for start_ns in starts_ns]
    found = {number: waits[0].take(np.empty(0, dtype=np.int64)) for number in loaders}
    for one in waits:
        starts = sorted(serving[one.mode])
        if starts:
            times = np.array([start_ns for start_ns, _ in starts], dtype=np.int64)
            places = np.searchsorted(times, one.starts_ns, side="right") - 1
            numbers = np.array([number for _, number in starts], dtype=np.int64)
            for number in {number for _, number in starts}:
                found[number] = one.take((places >= 0) & (numbers[places] == number))
    return found


def _next_mode(time_ns: int, waits: Sequence[_Waits]) -> str:
    """The mode of the first wait after an instant."""
    first = {}
    for one in waits:
        place = int(np.searchsorted(one.starts_ns, time_ns))
        if place < len(one.starts_ns):
            first[one.mode] = int(one.starts_ns[place])
    return min(first, key=lambda mode: first[mode], default=Mode.TRAIN.value)


def _record(
    reader: WorkerReader,
    number: int,
    rows: _Rows,
    waits: _Waits,
    beside: tuple[Sequence[float], TimeRange],
) -> LoaderRecord:
    pinnings, within = beside
    facts = _facts(rows.facts)
    starts, is_first = _starts_of(rows, waits, facts.processes)
    steps = read_steps(reader, waits.mode, within=within)
    later = waits.take(~is_first & ~np.isin(waits.steps, steps.steps[~steps.is_usual]))
    computed, waited, batches = _steady(steps, waits.steps[is_first])
    whole = float(computed.sum() + waited.sum())
    seconds: dict[str, Sequence[float]] = {
        name.value: rows.seconds.get(name.value, []) for name in _IN_A_ROW
    }
    seconds[Operation.WAIT.value] = later.seconds.tolist()
    moved = _waits(reader, waits.mode, within, Phase.HOST_TO_DEVICE)
    seconds[Operation.TRANSFER.value] = moved.seconds.tolist()
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
        waited_percent=100 * float(waited.sum()) / whole if whole else None,
    )


def _steady(steps: StepTable, first_steps: Numbers) -> tuple[Seconds, Seconds, float]:
    """What steps do beside waiting, and what they wait, in seconds; and batches per step.

    Not counted are those with a profiler and, where there are others, those in which an iterator
    got going; nor what others took from a step: evaluations and checkpoints.
    """
    is_steady = steps.is_usual & ~np.isin(steps.steps, first_steps)
    is_steady = is_steady if is_steady.any() else steps.is_usual
    phases = {name: one[is_steady] for name, one in steps.phases_ns.items()}
    waited_ns = phases[Phase.DATA_WAIT.value]
    aside_ns = phases[Phase.EVALUATION.value] + phases[Phase.CHECKPOINT.value]
    computed_ns = steps.durations_ns[is_steady] - waited_ns - aside_ns
    batches = float(steps.micro_steps[is_steady].mean()) if is_steady.any() else 1.0
    return computed_ns / NANOSECONDS, waited_ns / NANOSECONDS, batches


def _starts_of(rows: _Rows, waits: _Waits, processes: int) -> tuple[list[IteratorStart], Marks]:
    """The starts with the waits for the first batch of each process; and which waits these are."""
    times = np.array([start_ns for start_ns, _ in rows.starts], dtype=np.int64)
    firsts = np.searchsorted(waits.starts_ns, times)
    ends = np.append(firsts[1:], len(waits.starts_ns))[: len(firsts)]
    lasts = np.minimum(ends, firsts + max(1, processes))
    is_first = np.zeros(len(waits.starts_ns), dtype=np.bool_)
    starts = []
    for (start_ns, seconds), first, last in zip(rows.starts, firsts, lasts, strict=True):
        is_first[first:last] = True
        waited = float(waits.seconds[first:last].sum())
        starts.append(IteratorStart(start_ns, seconds, waited))
    return starts, is_first


def _cpu_percent(computed: Sequence[tuple[float, float]]) -> float | None:
    whole = sum(seconds for _, seconds in computed)
    return 100 * sum(cpu_seconds for cpu_seconds, _ in computed) / whole if whole else None


def _busy_percent(rows: _Rows) -> float | None:
    """How much of their time loader processes worked."""
    worked = rows.worked_ns / NANOSECONDS
    return 100 * worked / (worked + sum(rows.seconds[Operation.IDLE.value])) if worked else None


def _facts(said: Mapping[str, Any]) -> LoaderFacts:
    return LoaderFacts(
        processes=int(said.get("num_workers") or 0),
        batch_size=said.get("batch_size"),
        is_pinning=bool(said.get("pin_memory")),
        prefetched=said.get("prefetch_factor"),
        keeps_processes=bool(said.get("persistent_workers")),
        start_method=said.get("start_method"),
        dataset=str(said.get("dataset", "")),
        collation=str(said.get("collate", "")),
        cores=int(said.get("cores") or 1),
    )


def _seconds(row: Mapping[str, Any]) -> float:
    return float(row["duration_ns"]) / NANOSECONDS


def _detail(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(row["detail"]) if row["detail"] else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
