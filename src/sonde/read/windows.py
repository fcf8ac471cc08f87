"""Cuts a job into windows with fixed boundaries, as far as its data has arrived for good.

Whether a window can be shown follows from the data alone: every worker of the leg has gone on for a
while beyond its end, or the leg is over. So it does not matter when anybody looks.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.attempts import Leg
from sonde.read.job_data import JobData
from sonde.read.scalars import Losses
from sonde.read.window import Window
from sonde.read.workers import Numbers
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode

# How long after an instant everything about it is in the store: flushes are 2 s apart, and what a
# device computes arrives a step later.
SETTLED_SECONDS = 2.0
# A step is the last one of a worker until another follows, or until it has lived on for so long.
_NO_LONGER_LAST_SECONDS = 4.0
# A worker or node that is silent for so long holds nobody back any more.
_SILENT_SECONDS = 60.0
_TRAIN = Mode.TRAIN.value
_LAST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Settled:
    """How far the data of a leg has arrived for good."""

    steps: int  # all steps before this one
    time_ns: int  # everything before this instant
    since_ns: int  # to tell how far it will have come later, nothing before this is needed


@dataclass(frozen=True)
class _Marks:
    """When one worker has finished its training steps."""

    steps: Numbers
    ends_ns: Numbers
    heard_ns: int  # its last sign of life
    is_over: bool  # it has ended by itself: nothing more will come of it

    @property
    def settled_count(self) -> int:
        """How many steps are in the store for good, and may have others behind them."""
        if not len(self.steps):
            return 0
        lived_on_ns = self.heard_ns - int(self.ends_ns[-1])
        is_open = lived_on_ns < round(_NO_LONGER_LAST_SECONDS * NANOSECONDS)
        if self.is_over:
            return len(self.steps) - is_open
        settled_ns = self.heard_ns - round(SETTLED_SECONDS * NANOSECONDS)
        count = int(np.searchsorted(self.ends_ns, settled_ns, side="right"))
        return min(count, len(self.steps) - is_open)

    @property
    def settled_steps(self) -> int:
        """The step up to which all is in the store; it itself is not."""
        count = self.settled_count
        return int(self.steps[count - 1]) + 1 if count else 0

    def places(self, width: int, first: int) -> set[int]:
        """The numbers of windows of so many steps that hold any, from a number on."""
        steps = self.steps[int(self.steps.searchsorted(first * width)) :]
        return set((steps // width).tolist())

    def time_of(self, steps: StepRange, leg: Leg, *, is_last: bool) -> TimeRange:
        """From the end of the last step before some steps to the end of their last one."""
        first, last = self.steps.searchsorted((steps.start or 0, steps.end or 0)).tolist()
        start_ns = int(self.ends_ns[first - 1]) if first else leg.start_ns
        if is_last or not last:
            return TimeRange(start_ns, leg.end_ns)
        return TimeRange(start_ns, int(self.ends_ns[last - 1]))


def settled(data: JobData, leg: Leg) -> Settled:
    """How far a leg has come; where it is over, to its end."""
    if leg.is_over:
        return Settled(_LAST, _LAST, leg.start_ns)
    marks = {rank: _marks(data, leg, rank) for rank in leg.ranks}
    time_ns = _settled_ns(data, leg, marks)
    known_ns = max(leg.start_ns, data.since_ns or 0)
    starts_ns = [time_ns]
    for mark in _present(marks):
        if mark.is_over:
            continue
        count = mark.settled_count
        starts_ns.append(int(mark.ends_ns[count - 1]) if count else known_ns)
    return Settled(_settled_steps(leg, marks), time_ns, max(known_ns, min(starts_ns)))


def step_windows(
    data: JobData, leg: Leg, width: int, index: int, only: Container[int] | None = None
) -> Iterator[tuple[int, Window]]:
    """The windows of so many training steps that can be shown, from a number on.

    Args:
        data: The job.
        leg: The part of it.
        width: Steps of a window.
        index: The number of the first that is wanted.
        only: The numbers of those that are wanted, beside the last.
    """
    marks = {rank: _marks(data, leg, rank) for rank in leg.ranks}
    occupied = sorted({place for mark in marks.values() for place in mark.places(width, index)})
    end = _settled_steps(leg, marks)
    for place in occupied:
        is_open = (place + 1) * width > end
        if is_open and not leg.is_over:
            return
        # the last one of those that could not be shown before the end, however late one looks
        is_last = is_open and place == occupied[-1]
        if only is not None and place not in only and not is_last:
            continue
        steps = StepRange(place * width, (place + 1) * width)
        times = {rank: mark.time_of(steps, leg, is_last=is_last) for rank, mark in marks.items()}
        within = _hull(times)
        yield place, Window(data.reaching(within.start_ns), leg, within, steps, times, is_last)


def ending_window(data: JobData, leg: Leg, width: int, index: int) -> Iterator[tuple[int, Window]]:
    """What happened after the last finished step of a leg that is over.

    Nothing where the last window of steps reaches to the end anyway, as it mostly does.
    """
    marks = {rank: _marks(data, leg, rank) for rank in leg.ranks}
    lasts = [int(mark.steps[-1]) for mark in marks.values() if len(mark.steps)]
    place = max(lasts) // width + 1 if lasts else 0
    is_shown = bool(lasts) and place * width > _settled_steps(leg, marks)
    if not leg.is_over or is_shown or place < index or not marks:
        return
    steps = StepRange(place * width, (place + 1) * width)
    ends = {rank: int(mark.ends_ns[-1]) for rank, mark in marks.items() if len(mark.ends_ns)}
    times = {rank: TimeRange(ends.get(rank, leg.start_ns), leg.end_ns) for rank in marks}
    within = _hull(times)
    yield place, Window(data.reaching(within.start_ns), leg, within, steps, times, is_last=True)


def time_windows(
    data: JobData, leg: Leg, width_seconds: float, index: int
) -> Iterator[tuple[int, Window]]:
    """The windows of so many seconds that can be shown, from a number on."""
    width_ns = round(width_seconds * NANOSECONDS)
    if leg.is_over:
        end_ns = _end_of_data(data, leg)
    else:
        marks = {rank: _marks(data.recent, leg, rank) for rank in leg.ranks}
        end_ns = _settled_ns(data, leg, marks)
    last = -(-(end_ns - leg.start_ns) // width_ns) if leg.is_over else None
    while True:
        start_ns = leg.start_ns + index * width_ns
        within = TimeRange(start_ns, start_ns + width_ns)
        is_due = index < last if last is not None else start_ns + width_ns <= end_ns
        if not is_due:
            return
        times = dict.fromkeys(leg.ranks, within)
        near = data.reaching(start_ns)
        yield index, Window(near, leg, within, None, times, index + 1 == last)
        index += 1


def _marks(data: JobData, leg: Leg, rank: int) -> _Marks:
    table = data.steps(leg, rank, _TRAIN)
    steps, ends_ns = table.steps, table.ends_ns
    if not len(steps):  # a recording without steps may have a loss all the same
        rows = [
            one
            for one in data.scalars(leg, rank)
            if one.mode == _TRAIN and one.name in Losses() and len(one.steps)
        ]
        if rows:
            steps, first = np.unique(rows[0].steps, return_index=True)
            ends_ns = rows[0].times_ns[first]
    beats = [life.beat for life in leg.lives if life.info.rank == rank]
    heard = [beat.time_ns for beat in beats if beat is not None]
    is_over = any(beat is not None and beat.is_over for beat in beats)
    last_ns = int(ends_ns.max()) if len(ends_ns) else leg.start_ns
    return _Marks(steps, ends_ns, max([last_ns, *heard]), is_over)


def _present(marks: dict[int, _Marks]) -> list[_Marks]:
    """Those of the workers that others wait for."""
    heard_ns = max((mark.heard_ns for mark in marks.values()), default=0)
    silent_ns = heard_ns - round(_SILENT_SECONDS * NANOSECONDS)
    return [mark for mark in marks.values() if mark.is_over or mark.heard_ns >= silent_ns]


def _settled_steps(leg: Leg, marks: dict[int, _Marks]) -> int:
    if not leg.is_complete:
        return 0
    going = [mark.settled_steps for mark in _present(marks) if not mark.is_over]
    ended = [mark.settled_steps for mark in marks.values()]
    return min(going) if going else max(ended, default=0)


def _settled_ns(data: JobData, leg: Leg, marks: dict[int, _Marks]) -> int:
    """The instant before which all is in the store."""
    heard = [mark.heard_ns for mark in marks.values() if not mark.is_over]
    heard += [extent.last_ns for node in leg.nodes if (extent := data.node(node).extent)]
    latest = max(heard, default=leg.start_ns)
    near = [one for one in heard if one >= latest - round(_SILENT_SECONDS * NANOSECONDS)]
    return min(near, default=leg.start_ns) - round(SETTLED_SECONDS * NANOSECONDS)


def _end_of_data(data: JobData, leg: Leg) -> int:
    ends = [extent.last_ns + 1 for node in leg.nodes if (extent := data.node(node).extent)]
    for rank in leg.ranks:
        steps_ns = data.steps(leg, rank, _TRAIN).ends_ns
        ends += [int(steps_ns.max()) + 1] if len(steps_ns) else []
    end_ns = max(ends, default=leg.start_ns)
    return end_ns if leg.end_ns is None else min(end_ns, leg.end_ns)


def _hull(times: dict[int, TimeRange]) -> TimeRange:
    starts = [one.start_ns for one in times.values() if one.start_ns is not None]
    ends = [one.end_ns for one in times.values()]
    known = [one for one in ends if one is not None]
    return TimeRange(min(starts, default=None), max(known) if len(known) == len(ends) else None)
