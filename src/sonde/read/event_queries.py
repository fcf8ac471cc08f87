"""Which windows of few steps hold anything that a rule needs, so that it is spared the others."""

from collections.abc import Container, Iterable
from copy import copy
from fnmatch import fnmatchcase

import numpy as np

from sonde.read.attempts import Leg
from sonde.read.job_data import JobData
from sonde.read.workers import Numbers
from sonde.records.need import Need, Observations, Steps
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_EVERY_STEPS = 50  # a window is shown whatever it holds


class Eventful(Container[int]):
    """The numbers of windows in which something happened, and of those that follow them.

    And of one in fifty steps: who waits for something is not left waiting for ever.
    """

    def __init__(self, data: JobData, leg: Leg, width: int, needs: Iterable[Need]) -> None:
        places = _places(data, leg, width, tuple(needs))
        self._places = places | {place + 1 for place in places}
        self._every = max(1, _EVERY_STEPS // width)

    def __or__(self, other: "Eventful") -> "Eventful":
        """What any of two of one width holds."""
        both = copy(self)
        both._places = self._places | other._places
        return both

    def __contains__(self, place: object) -> bool:
        return place in self._places or (isinstance(place, int) and place % self._every == 0)


def _places(data: JobData, leg: Leg, width: int, needs: tuple[Need, ...]) -> set[int]:
    found: set[int] = set()
    for rank in leg.ranks:
        steps = data.steps(leg, rank, _TRAIN).steps
        ends_ns = data.ends(leg, rank, _TRAIN)
        for times_ns in _instants(data, leg, rank, needs):
            # the step that was under way; of a job that goes on it may not be known yet
            under_way = np.searchsorted(ends_ns, times_ns, side="right")
            if leg.is_over and len(steps):
                under_way = np.minimum(under_way, len(steps) - 1)
            under_way = under_way[under_way < len(steps)]
            found |= set((steps[under_way] // width).tolist())
    return found


def _instants(data: JobData, leg: Leg, rank: int, needs: Iterable[Need]) -> Iterable[Numbers]:
    for need in needs:
        if isinstance(need, Observations):
            for kind, rows in data.observations(leg, rank).items():
                if fnmatchcase(kind, need.kind):
                    yield rows.times_ns
        elif isinstance(need, Steps) and need.mode != _TRAIN:
            yield data.ends(leg, rank, need.mode)
