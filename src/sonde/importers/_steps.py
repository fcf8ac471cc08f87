"""Find steps and phases in a recording by the names of operations.

PyTorch's profiler marks steps, data loaders, optimizers and the functions of the backward pass.
The forward pass is the operators with sequence numbers before a backward pass.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sonde.records.arrays import BoolArray, IntArray
from sonde.records.step import NO_STEP, EventCategory, Mode, Phase

EventRow = tuple[str, str, str, int, int, int, str, str]

MAIN_LANE = "main"
_STEP = re.compile(r"(?:profilerstep|(?:train(?:ing)?[ _]?)?(?:step|iteration))[ _#:]*(\d+)")
_PHASES = {
    Phase.DATA_WAIT: re.compile(
        r"enumerate\(dataloader\)#.*|data[ _]?(?:wait|load|loader|loading)"
    ),
    Phase.FORWARD: re.compile(r"(?:.*\.|model[ _])?forward(?:[ _]pass)?"),
    Phase.BACKWARD: re.compile(r"(?:.*\.|loss[ _])?backward(?:[ _]pass)?"),
    Phase.OPTIMIZER: re.compile(r"optimizer\.step#.*|(?:.*\.)?optimizer(?:[ _.]?step)?"),
}
_DECORATION = " #*-_:[]<>="  # people write "## forward ##"
_BACKWARD_PART = re.compile(r"autograd::engine::evaluate_function|\w+Backward\d*$")

Interval = tuple[int, int]  # start, end


@dataclass(frozen=True)
class Operations:
    """The columns of a recording needed for finding steps, in order of time."""

    names: Sequence[str]
    lanes: Sequence[str]
    devices: Sequence[str]
    starts_ns: IntArray
    durations_ns: IntArray
    sequences: IntArray  # autograd sequence number, or -1

    def take(self, which: BoolArray) -> "Operations":
        """A subset of the operations."""
        indices = np.flatnonzero(which).tolist()
        return Operations(
            [self.names[index] for index in indices],
            [self.lanes[index] for index in indices],
            [self.devices[index] for index in indices],
            self.starts_ns[indices],
            self.durations_ns[indices],
            self.sequences[indices],
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    number: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Training:
    """The steps of a recording and their phases, in order of time."""

    steps: Sequence[Step] = ()
    phases: Sequence[tuple[str, int, int]] = ()  # name, start, end

    def step_of(self, instant_ns: int) -> int:
        """The step at an instant, or NO_STEP."""
        index = bisect_right(self.steps, instant_ns, key=lambda step: step.start_ns) - 1
        is_inside = index >= 0 and instant_ns < self.steps[index].end_ns
        return self.steps[index].number if is_inside else NO_STEP

    def event_rows(self) -> list[EventRow]:
        """The rows of EVENTS, in order of time."""
        rows: list[EventRow] = []
        passes: Counter[int] = Counter()
        for name, start_ns, end_ns in self.phases:
            step = self.step_of(start_ns)
            passes[step] += name == Phase.BACKWARD
            rows.append(_row(name, EventCategory.PHASE, start_ns, end_ns, step))
        for marked in self.steps:
            count = passes[marked.number]
            detail = json.dumps({"micro_steps": count}) if count > 1 else ""
            row = _row("step", EventCategory.STEP, marked.start_ns, marked.end_ns, marked.number)
            rows.append((*row[:-1], detail))
        return sorted(rows, key=lambda row: (row[3], -row[4]))


def _row(name: str, category: EventCategory, start_ns: int, end_ns: int, step: int) -> EventRow:
    duration_ns = end_ns - start_ns
    return (name, category.value, MAIN_LANE, start_ns, duration_ns, step, Mode.TRAIN.value, "")


def find_training(operations: Operations, steps: Sequence[Step] = ()) -> Training:
    """The steps and phases of the training thread.

    Args:
        operations: All operations.
        steps: The steps, if the recording does not mark them by names.
    """
    host = operations.take(_mask_of(operations.devices, "cpu".__eq__))
    step_lane = _lane_with_most(host, [_STEP])
    lane = _lane_with_most(host, _PHASES.values()) or step_lane
    marked, main = (host.take(_mask_of(host.lanes, each.__eq__)) for each in (step_lane, lane))
    phases = {
        phase: _intervals(main.take(_named(main, pattern))) for phase, pattern in _PHASES.items()
    }
    ordered_steps = (
        sorted(steps, key=lambda each: each.start_ns)
        or _marked_steps(marked)
        or _steps_by(phases[Phase.OPTIMIZER], main)
    )
    breaks = [start for start, _ in phases[Phase.DATA_WAIT] + phases[Phase.OPTIMIZER]]
    breaks += [each.start_ns for each in ordered_steps]
    phases |= {
        name: intervals for name, intervals in _passes(host, main, breaks).items() if intervals
    }
    phase_rows = [(phase.value, *each) for phase, intervals in phases.items() for each in intervals]
    return Training(ordered_steps, sorted(phase_rows, key=lambda each: each[1:]))


def _passes(
    host: Operations, main: Operations, breaks: Sequence[int]
) -> dict[Phase, list[Interval]]:
    """Forward and backward passes, from backward functions, which may run on any thread."""
    functions = _intervals(
        host.take(_mask_of(host.names, lambda name: bool(_BACKWARD_PART.match(name))))
    )
    is_outside = ~_inside(main.starts_ns, functions)
    operators = _intervals(main.take((main.sequences >= 0) & is_outside))
    backward = _joined(functions, [*breaks, *(start for start, _ in operators)])
    begins = {start for start, _ in backward}
    computed = _joined(operators, [*breaks, *begins])
    # operators without a following backward pass, such as a metric, are not a forward pass
    boundaries = np.array(
        sorted({*breaks, *begins, *(start for start, _ in computed)}), dtype=np.int64
    )
    forward = []
    for start, end in computed:
        index = int(np.searchsorted(boundaries, start, side="right"))
        if index < len(boundaries) and boundaries[index] in begins:
            forward.append((start, min(end, int(boundaries[index]))))
    return {Phase.FORWARD: forward, Phase.BACKWARD: backward}


def _lane_with_most(host: Operations, patterns: Iterable[re.Pattern[str]]) -> str:
    """The thread with the most matching names: the training thread, or a synthetic one."""
    fitting = np.any([_named(host, pattern) for pattern in patterns], axis=0)
    lanes = Counter(host.take(fitting).lanes)
    return lanes.most_common(1)[0][0] if lanes else ""


def _marked_steps(marked: Operations) -> list[Step]:
    named = marked.take(_named(marked, _STEP))
    by_number = {}
    for name, (start_ns, end_ns) in zip(named.names, _intervals(named), strict=True):
        match = _STEP.fullmatch(_plain(name))
        assert match is not None
        by_number[int(match[1])] = Step(int(match[1]), start_ns, end_ns)
    return sorted(by_number.values(), key=lambda step: step.start_ns)


def _steps_by(optimizer: Sequence[Interval], main: Operations) -> list[Step]:
    """A step ends with its optimizer step; the first one begins with the recording."""
    edges = [int(main.starts_ns.min()), *(end for _, end in optimizer)] if optimizer else []
    return [Step(number, *edge) for number, edge in enumerate(pairwise(edges))]


def is_step_or_phase(name: str) -> bool:
    """Whether a name looks like a step or a phase."""
    return any(_matches(name, pattern) for pattern in (_STEP, *_PHASES.values()))


def _named(operations: Operations, pattern: re.Pattern[str]) -> BoolArray:
    return _mask_of(operations.names, lambda name: _matches(name, pattern))


def _plain(name: str) -> str:
    return name.strip(_DECORATION).lower()


def _matches(name: str, pattern: re.Pattern[str]) -> bool:
    return pattern.fullmatch(_plain(name)) is not None


def _mask_of(values: Sequence[str], predicate: Callable[[str], bool]) -> BoolArray:
    """Which texts satisfy a predicate, evaluated once per distinct text."""
    results = {value: predicate(value) for value in set(values)}
    return np.array([results[value] for value in values], dtype=np.bool_)


def _intervals(operations: Operations) -> list[Interval]:
    """Start and end of each operation, in order of time."""
    ends_ns = operations.starts_ns + operations.durations_ns
    return sorted(zip(operations.starts_ns.tolist(), ends_ns.tolist(), strict=True))


def _joined(intervals: Sequence[Interval], breaks: Sequence[int]) -> list[Interval]:
    """Merge neighbors, unless a break is between their starts."""
    starts = np.array([start for start, _ in intervals], dtype=np.int64)
    groups = np.searchsorted(np.sort(np.array(breaks, dtype=np.int64)), starts, side="right")
    merged: dict[int, Interval] = {}
    for group, (start, end) in zip(groups.tolist(), intervals, strict=True):
        first, last = merged.get(group, (start, end))
        merged[group] = (first, max(last, end))
    return list(merged.values())


def _inside(instants_ns: IntArray, intervals: Sequence[Interval]) -> BoolArray:
    """Which instants are in one of the intervals."""
    if not intervals:
        return np.zeros(len(instants_ns), dtype=np.bool_)
    starts, ends = (np.array(edge, dtype=np.int64) for edge in zip(*intervals, strict=True))
    latest_ends = np.maximum.accumulate(ends)
    before = np.searchsorted(starts, instants_ns, side="right") - 1
    return (before >= 0) & (instants_ns < latest_ends[np.maximum(before, 0)])
