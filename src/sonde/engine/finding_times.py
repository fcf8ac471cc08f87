"""The time range of a finding: that of its steps, or of the data its rule received."""

import numpy as np

from sonde.read.steps import StepTable, read_steps
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.ranges import StepRange
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value


def time_of(finding: Finding, window: Window) -> tuple[int, int]:
    """From the start of its first step to the end of its last.

    Without steps, the time of the samples that the rule received: the window may start with
    the job, which says nothing about when the problem occurred.
    """
    if finding.time_ns is not None:
        return finding.time_ns
    within = None if finding.steps is None else _of_steps(finding, window)
    times_ns = window.sample_times or [window.start_ns, window.end_ns]
    return within or (min(times_ns), max(times_ns))


def _of_steps(finding: Finding, window: Window) -> tuple[int, int] | None:
    assert finding.steps is not None
    first, last = finding.steps
    attempt, worker = window.attempt, finding.worker
    starts_ns, ends_ns = [], []
    for rank in attempt.ranks if worker is None or worker not in attempt.ranks else (worker,):
        table = window.data.steps(attempt, rank, _TRAIN)
        if len(table.steps) and int(table.steps[0]) > first:  # starts before the data in memory
            early = StepRange(first, int(table.steps[0]))
            older = read_steps(window.data.worker(rank), _TRAIN, early, attempt.within)
            starts_ns += _starts(older, first, last)
        starts_ns += _starts(table, first, last)
        ends_ns += _ends(table, first, last)
    if not starts_ns:
        return None
    return min(starts_ns), max(ends_ns or starts_ns)


def _starts(table: StepTable, first: int, last: int) -> list[int]:
    index = int(np.searchsorted(table.steps, first))
    is_in = index < len(table.steps) and int(table.steps[index]) <= last
    return [int(table.starts_ns[index])] if is_in else []


def _ends(table: StepTable, first: int, last: int) -> list[int]:
    index = int(np.searchsorted(table.steps, last, side="right")) - 1
    is_in = index >= 0 and int(table.steps[index]) >= first
    return [int(table.ends_ns[index])] if is_in else []
