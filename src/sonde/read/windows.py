"""Divide a job into windows with fixed boundaries, as far as its data has arrived completely.

Whether a window is ready depends only on the data: every worker has continued for a while beyond
its end, or the attempt is over. So results do not depend on when the rules run.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.attempts import JobAttempt
from sonde.read.job_data import JobData
from sonde.read.scalars import Losses
from sonde.read.tensors import read_measured_steps
from sonde.read.window import Window
from sonde.records.arrays import IntArray
from sonde.records.ranges import StepRange, TimeRange
from sonde.records.step import Mode

# Delay until all data about an instant is in the store: flushes are 2 s apart, and device times
# arrive one step later.
SETTLED_SECONDS = 2.0
# A step may be a worker's last until another step follows or a heartbeat comes this much later.
_NO_LONGER_LAST_SECONDS = 4.0
# Windows do not wait for a worker or node that has been silent for this long.
_SILENT_SECONDS = 60.0
_TRAIN = Mode.TRAIN.value
_LAST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Settled:
    """How far the data of an attempt has arrived completely."""

    steps: int  # all steps before this one have arrived
    time_ns: int  # all data before this instant has arrived
    since_ns: int  # older data is not needed for later checks


@dataclass(frozen=True)
class _WorkerSteps:
    """The finished training steps of one worker."""

    steps: IntArray
    ends_ns: IntArray
    heard_ns: int  # last heartbeat
    is_over: bool  # it has ended: no more data will arrive

    @property
    def settled_count(self) -> int:
        """The number of steps that have arrived completely."""
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
        """The first step that may not have arrived completely."""
        count = self.settled_count
        return int(self.steps[count - 1]) + 1 if count else 0

    def window_numbers(self, width: int, first: int) -> set[int]:
        """The numbers of non-empty windows of `width` steps, from `first` on."""
        steps = self.steps[int(self.steps.searchsorted(first * width)) :]
        return set((steps // width).tolist())

    def time_of(self, steps: StepRange, attempt: JobAttempt, *, is_last: bool) -> TimeRange:
        """The time range of steps: from the end of the previous step to the end of the last one."""
        first, last = self.steps.searchsorted((steps.start or 0, steps.end or 0)).tolist()
        start_ns = int(self.ends_ns[first - 1]) if first else attempt.start_ns
        if is_last or not last:
            return TimeRange(start_ns, attempt.end_ns)
        return TimeRange(start_ns, int(self.ends_ns[last - 1]))


def settled(data: JobData, attempt: JobAttempt) -> Settled:
    """How far the data of an attempt has arrived; all of it if the attempt is over."""
    if attempt.is_over:
        return Settled(_LAST, _LAST, attempt.start_ns)
    marks = {rank: _worker_steps(data, attempt, rank) for rank in attempt.ranks}
    time_ns = _settled_ns(data, attempt, marks)
    known_ns = max(attempt.start_ns, data.since_ns or 0)
    starts_ns = [time_ns]
    for mark in _present(marks):
        if mark.is_over:
            continue
        count = mark.settled_count
        starts_ns.append(int(mark.ends_ns[count - 1]) if count else known_ns)
    return Settled(_settled_steps(attempt, marks), time_ns, max(known_ns, min(starts_ns)))


def step_windows(
    data: JobData, attempt: JobAttempt, width: int, index: int, only: Container[int] | None = None
) -> Iterator[tuple[int, Window]]:
    """The ready windows of `width` training steps, from a number on.

    Args:
        data: The job.
        attempt: The attempt.
        width: Steps per window.
        index: The number of the first window.
        only: The numbers of the requested windows; the last one is always included.
    """
    marks = {rank: _worker_steps(data, attempt, rank) for rank in attempt.ranks}
    occupied = sorted(
        {number for mark in marks.values() for number in mark.window_numbers(width, index)}
    )
    end = _settled_steps(attempt, marks)
    for number in occupied:
        is_open = (number + 1) * width > end
        if is_open and not attempt.is_over:
            return
        # only a window that became ready at the end, so that the result is the same for any poll
        is_last = is_open and number == occupied[-1]
        if only is not None and number not in only and not is_last:
            continue
        steps = StepRange(number * width, (number + 1) * width)
        times = {
            rank: mark.time_of(steps, attempt, is_last=is_last) for rank, mark in marks.items()
        }
        within = _enclosing_range(times)
        yield (
            number,
            Window(data.view_since(within.start_ns), attempt, within, steps, times, is_last),
        )


def ending_window(
    data: JobData, attempt: JobAttempt, width: int, index: int
) -> Iterator[tuple[int, Window]]:
    """The window after the last finished step of an attempt that is over.

    Usually empty, because the last window of steps extends to the end of the attempt.
    """
    marks = {rank: _worker_steps(data, attempt, rank) for rank in attempt.ranks}
    lasts = [int(mark.steps[-1]) for mark in marks.values() if len(mark.steps)]
    number = max(lasts) // width + 1 if lasts else 0
    is_shown = bool(lasts) and number * width > _settled_steps(attempt, marks)
    if not attempt.is_over or is_shown or number < index or not marks:
        return
    steps = StepRange(number * width, (number + 1) * width)
    ends = {rank: int(mark.ends_ns[-1]) for rank, mark in marks.items() if len(mark.ends_ns)}
    times = {rank: TimeRange(ends.get(rank, attempt.start_ns), attempt.end_ns) for rank in marks}
    within = _enclosing_range(times)
    yield (
        number,
        Window(data.view_since(within.start_ns), attempt, within, steps, times, is_last=True),
    )


def time_windows(
    data: JobData, attempt: JobAttempt, width_seconds: float, index: int
) -> Iterator[tuple[int, Window]]:
    """The ready windows of `width_seconds`, from a number on."""
    width_ns = round(width_seconds * NANOSECONDS)
    if attempt.is_over:
        end_ns = _end_of_data(data, attempt)
    else:
        marks = {rank: _worker_steps(data.recent, attempt, rank) for rank in attempt.ranks}
        end_ns = _settled_ns(data, attempt, marks)
    last = -(-(end_ns - attempt.start_ns) // width_ns) if attempt.is_over else None
    while True:
        start_ns = attempt.start_ns + index * width_ns
        within = TimeRange(start_ns, start_ns + width_ns)
        is_due = index < last if last is not None else start_ns + width_ns <= end_ns
        if not is_due:
            return
        times = dict.fromkeys(attempt.ranks, within)
        recent = data.view_since(start_ns)
        yield index, Window(recent, attempt, within, None, times, index + 1 == last)
        index += 1


def _worker_steps(data: JobData, attempt: JobAttempt, rank: int) -> _WorkerSteps:
    table = data.steps(attempt, rank, _TRAIN)
    steps, ends_ns = table.steps, table.ends_ns
    if not len(steps):  # a recording without steps may still have losses or tensors
        steps, ends_ns = _steps_of_losses(data, attempt, rank)
    if not len(steps):
        steps, ends_ns = read_measured_steps(data.worker(rank), _TRAIN, attempt.within)
    beats = [life.beat for life in attempt.lives if life.info.rank == rank]
    heard = [beat.time_ns for beat in beats if beat is not None]
    is_over = any(beat is not None and beat.is_over for beat in beats)
    last_ns = int(ends_ns.max()) if len(ends_ns) else attempt.start_ns
    return _WorkerSteps(steps, ends_ns, max([last_ns, *heard]), is_over)


def _steps_of_losses(data: JobData, attempt: JobAttempt, rank: int) -> tuple[IntArray, IntArray]:
    """The training steps with a loss, and the time of each."""
    for scalar in data.scalars(attempt, rank):
        if scalar.mode == _TRAIN and scalar.name in Losses() and len(scalar.steps):
            steps, first = np.unique(scalar.steps, return_index=True)
            return steps, scalar.times_ns[first]
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def _present(marks: dict[int, _WorkerSteps]) -> list[_WorkerSteps]:
    """The workers that are not silent."""
    heard_ns = max((mark.heard_ns for mark in marks.values()), default=0)
    silent_ns = heard_ns - round(_SILENT_SECONDS * NANOSECONDS)
    return [mark for mark in marks.values() if mark.is_over or mark.heard_ns >= silent_ns]


def _settled_steps(attempt: JobAttempt, marks: dict[int, _WorkerSteps]) -> int:
    if not attempt.is_complete:
        return 0
    running = [mark.settled_steps for mark in _present(marks) if not mark.is_over]
    ended = [mark.settled_steps for mark in marks.values()]
    return min(running) if running else max(ended, default=0)


def _settled_ns(data: JobData, attempt: JobAttempt, marks: dict[int, _WorkerSteps]) -> int:
    """The instant before which all data is in the store."""
    heard = [mark.heard_ns for mark in marks.values() if not mark.is_over]
    heard += [extent.last_ns for node in attempt.nodes if (extent := data.node(node).extent)]
    latest = max(heard, default=attempt.start_ns)
    recent = [
        instant_ns
        for instant_ns in heard
        if instant_ns >= latest - round(_SILENT_SECONDS * NANOSECONDS)
    ]
    return min(recent, default=attempt.start_ns) - round(SETTLED_SECONDS * NANOSECONDS)


def _end_of_data(data: JobData, attempt: JobAttempt) -> int:
    ends = [extent.last_ns + 1 for node in attempt.nodes if (extent := data.node(node).extent)]
    for rank in attempt.ranks:
        steps_ns = data.steps(attempt, rank, _TRAIN).ends_ns
        ends += [int(steps_ns.max()) + 1] if len(steps_ns) else []
    end_ns = max(ends, default=attempt.start_ns)
    return end_ns if attempt.end_ns is None else min(end_ns, attempt.end_ns)


def _enclosing_range(times: dict[int, TimeRange]) -> TimeRange:
    starts = [each.start_ns for each in times.values() if each.start_ns is not None]
    ends = [each.end_ns for each in times.values()]
    closed_ends = [each for each in ends if each is not None]
    return TimeRange(
        min(starts, default=None), max(closed_ends) if len(closed_ends) == len(ends) else None
    )
