"""When a finding holds: the time of its steps, else of the data that its rule was given."""

import numpy as np

from sonde.read.steps import StepTable, read_steps
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.ranges import StepRange
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value


def time_of(finding: Finding, window: Window) -> tuple[int, int]:
    """From the start of its first step to the end of its last one.

    Without steps it is the time of the samples that the rule was given; the window begins with the
    job, which says nothing about when anything was wrong.
    """
    if finding.time_ns is not None:
        return finding.time_ns
    within = None if finding.steps is None else _of_steps(finding, window)
    times_ns = window.sample_times or [window.start_ns, window.end_ns]
    return within or (min(times_ns), max(times_ns))


def _of_steps(finding: Finding, window: Window) -> tuple[int, int] | None:
    assert finding.steps is not None
    first, last = finding.steps
    leg, own = window.leg, finding.worker
    starts_ns, ends_ns = [], []
    for rank in leg.ranks if own is None or own not in leg.ranks else (own,):
        table = window.data.steps(leg, rank, _TRAIN)
        if len(table.steps) and int(table.steps[0]) > first:  # it began before what is held
            early = StepRange(first, int(table.steps[0]))
            older = read_steps(window.data.worker(rank), _TRAIN, early, leg.within)
            starts_ns += _starts(older, first, last)
        starts_ns += _starts(table, first, last)
        ends_ns += _ends(table, first, last)
    if not starts_ns:
        return None
    return min(starts_ns), max(ends_ns or starts_ns)


def _starts(table: StepTable, first: int, last: int) -> list[int]:
    place = int(np.searchsorted(table.steps, first))
    is_in = place < len(table.steps) and int(table.steps[place]) <= last
    return [int(table.starts_ns[place])] if is_in else []


def _ends(table: StepTable, first: int, last: int) -> list[int]:
    place = int(np.searchsorted(table.steps, last, side="right")) - 1
    is_in = place >= 0 and int(table.steps[place]) >= first
    return [int(table.ends_ns[place])] if is_in else []
