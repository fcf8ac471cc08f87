"""Decide from system samples as early as the evidence allows.

Noise is not what makes an early decision wrong: utilization is far from its threshold if there is a
fault. What does are phases: a slow start, an evaluation, a pause. So a condition must hold in each
quarter of the samples so far, and each quarter must contain the end of a training step. A phase at
the beginning or at the end covers one quarter at most, unless the job consists of nothing else. The
quarters grow with the job until they are half a window each: a fault that begins after a long
healthy time needs to last for two windows, as a fault from the start needs to last for 30 seconds.
So the more samples are remembered, the less often a new decision can differ from the last one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sonde.read.window import Window
from sonde.rules._rule import State
from sonde.rules.measures.system_samples import Datapoints, Instants, Values


@dataclass(frozen=True, slots=True)
class Calibration:
    """When samples suffice for a decision.

    Checked on simulated healthy jobs with pauses and phases (tests/rules/measures).
    """

    min_samples: int = 60  # half a minute at the default interval
    quarters: int = 4
    windows: int = 2  # remembered
    news: float = 1 / 8  # of the remembered samples, until the next decision


LIMITS = Calibration()


def count_steps(window: Window, state: State, times_ns: Instants) -> Values:
    """Return how many training steps of the attempt had ended at each time; call once per window.

    The result is a column for `SampleFilter.take`.
    """
    counter = state.of("ended_steps")
    if counter.get("attempt") != window.attempt.number:
        counter.clear()
        counter.update(attempt=window.attempt.number, before=0, count=0)
    if counter.get("window_ns") != window.start_ns:  # several subjects share a window
        counter["window_ns"], counter["before"] = window.start_ns, counter["count"]
    tables = window.steps()[:1]
    counts = np.full(len(times_ns), float(counter["before"]))
    for table in tables:
        counts += np.searchsorted(table.ends_ns, times_ns, side="right")
        counter["count"] = counter["before"] + len(table.ends_ns)
    return counts


def recent_rows(subject: State, counted: Datapoints, window: int) -> Values:
    """Remember the last windows of samples, one row each, with the time first."""
    rows = np.stack([item.astype(np.float64) for item in counted], axis=1)
    subject["count"] = subject.get("count", 0) + len(rows)
    known = np.asarray(subject.get("buffer", ()), dtype=np.float64)  # lists if restored
    rows = np.concatenate([known, rows]) if len(known) else rows
    subject["buffer"] = rows[-LIMITS.windows * window :].copy()
    return np.asarray(subject["buffer"])


def is_due(subject: State, rows: Values, needed: int, *, is_last: bool) -> bool:
    """Whether to decide: an eighth of the remembered samples is new, or the job is over.

    Args:
        subject: The state of `recent_rows`.
        rows: The remembered samples.
        needed: How many samples the first decision needs.
        is_last: Whether no more samples will come.
    """
    count, decided = subject["count"], subject.get("decided", 0)
    is_new = count - decided >= LIMITS.news * len(rows)
    if count < needed or count == decided or not (is_new or is_last):
        return False
    subject["decided"] = count
    return True


def min_samples(window: int, *, is_explicit: bool) -> int:
    """Return how many samples a decision needs; an explicit window is waited for."""
    return LIMITS.windows * window if is_explicit else LIMITS.min_samples


def holds_in_each_quarter(rows: Values, holds: Callable[[Values], bool]) -> bool:
    """Whether a condition holds in each quarter of the rows, all of which contain training.

    Args:
        rows: Samples, one row each; the last column is the number of steps that had ended.
        holds: The condition.
    """
    quarters = np.array_split(rows, LIMITS.quarters)
    has_steps = rows[-1, -1] > 0  # otherwise the steps of the job are unknown
    return all(
        (quarter[-1, -1] > quarter[0, -1] or not has_steps) and holds(quarter)
        for quarter in quarters
    )


def latest_quarter(rows: Values) -> Values:
    """Return the latest quarter of the rows: a fault is over when it is healthy."""
    return np.array_split(rows, LIMITS.quarters)[-1]
