"""How much slower or faster one run is than another, phase by phase, with noise bounds."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sonde.analyze.differences import Difference, difference_of, without_warm_up
from sonde.formats import format_duration, format_percent
from sonde.results.run_record import STEP, RunRecord

_MAX_NAMED = 3  # phases in the sentence
_MIN_SHARE = 0.05  # of the change of the step, for a phase to be named


@dataclass(frozen=True, slots=True)
class PhaseDifference:
    """The mean time of a phase, or of the whole step, in two runs."""

    phase: str
    seconds: Difference

    @property
    def change_text(self) -> str:
        """The change with its noise: `+40 ms ± 3 ms`."""
        sign = "+" if self.seconds.change > 0 else ""
        change = f"{sign}{format_duration(self.seconds.change)}"
        if math.isnan(self.seconds.bound):
            return change
        return f"{change} ± {format_duration(self.seconds.bound)}"


def phase_differences(baseline: RunRecord, run: RunRecord) -> tuple[PhaseDifference, ...]:
    """The whole step, then its phases, the largest change first; empty without steps."""
    rows = [
        PhaseDifference(phase, seconds)
        for phase, seconds in _differences(baseline, run)
        if seconds.first or seconds.second
    ]
    return tuple(sorted(rows, key=lambda row: (row.phase != STEP, -abs(row.seconds.change))))


def speed_sentence(baseline: RunRecord, run: RunRecord) -> str:
    """Say how much slower or faster a run is, and in which phases."""
    rows = phase_differences(baseline, run)
    if not rows or math.isnan(rows[0].seconds.bound):
        return f"{run.name} and {baseline.name} have too few training steps to compare their speed."
    step, *phases = rows
    if not step.seconds.is_significant:
        return (
            f"{run.name} is as fast as {baseline.name}, within noise: {step.change_text} per step."
        )
    change = step.seconds.change
    percent = format_percent(abs(step.seconds.percent))
    comparison = "slower" if change > 0 else "faster"
    named = [
        f"{row.phase.replace('_', ' ')} {row.change_text}"
        for row in phases
        if row.seconds.is_significant and row.seconds.change / change >= _MIN_SHARE
    ]
    times = f"{format_duration(step.seconds.second)} per step instead of"
    times += f" {format_duration(step.seconds.first)} ({step.change_text})"
    parts = [times, *named[:_MAX_NAMED]]
    return f"{run.name} is {percent} {comparison} than {baseline.name}: {'; '.join(parts)}."


def _differences(baseline: RunRecord, run: RunRecord) -> Iterator[tuple[str, Difference]]:
    if STEP not in baseline.seconds or STEP not in run.seconds:
        return
    counts = [len(each.seconds[STEP]) for each in (baseline, run)]
    if not all(counts):
        return
    for phase in dict.fromkeys((*baseline.seconds, *run.seconds)):
        columns = [
            each.seconds.get(phase, np.zeros(count))[without_warm_up(count)]
            for each, count in zip((baseline, run), counts, strict=True)
        ]
        yield phase, difference_of(columns[0], columns[1])
