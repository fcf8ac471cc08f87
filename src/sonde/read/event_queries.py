"""Find the windows that hold data a rule needs, so that others can be skipped."""

from collections.abc import Container, Iterable
from copy import copy
from fnmatch import fnmatchcase

import numpy as np

from sonde.read.attempts import JobAttempt
from sonde.read.job_data import JobData
from sonde.records.arrays import IntArray
from sonde.records.need import Need, Observations, Steps
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_EVERY_STEPS = 50  # one window is always included


class EventWindows(Container[int]):
    """The numbers of windows with relevant events, and of the windows after each.

    One window in fifty steps is always included, so rules that wait are called eventually.
    """

    def __init__(
        self, data: JobData, attempt: JobAttempt, width: int, needs: Iterable[Need]
    ) -> None:
        indices = _event_windows(data, attempt, width, tuple(needs))
        self._indices = indices | {index + 1 for index in indices}
        self._interval = max(1, _EVERY_STEPS // width)

    def __or__(self, second: "EventWindows") -> "EventWindows":
        """The union of two sets of windows of the same width."""
        union = copy(self)
        union._indices = self._indices | second._indices
        return union

    def __contains__(self, index: object) -> bool:
        return index in self._indices or (isinstance(index, int) and index % self._interval == 0)


def _event_windows(
    data: JobData, attempt: JobAttempt, width: int, needs: tuple[Need, ...]
) -> set[int]:
    indices: set[int] = set()
    for rank in attempt.ranks:
        steps = data.steps(attempt, rank, _TRAIN).steps
        ends_ns = data.ends(attempt, rank, _TRAIN)
        for times_ns in _instants(data, attempt, rank, needs):
            # the step in progress; in a running job it may not be recorded yet
            active = np.searchsorted(ends_ns, times_ns, side="right")
            if attempt.is_over and len(steps):
                active = np.minimum(active, len(steps) - 1)
            active = active[active < len(steps)]
            indices |= set((steps[active] // width).tolist())
    return indices


def _instants(
    data: JobData, attempt: JobAttempt, rank: int, needs: Iterable[Need]
) -> Iterable[IntArray]:
    for need in needs:
        if isinstance(need, Observations):
            for kind, rows in data.observations(attempt, rank).items():
                if fnmatchcase(kind, need.kind):
                    yield rows.times_ns
        elif isinstance(need, Steps) and need.mode != _TRAIN:
            yield data.ends(attempt, rank, need.mode)
