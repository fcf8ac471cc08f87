"""Single long pauses: steps that take hundreds of times the median."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sonde.analyze.robust import median_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.records.arrays import BoolArray, FloatArray
from sonde.records.observation import ObservationKind
from sonde.records.observations.training import Stall
from sonde.records.step import Phase
from sonde.rules._rule import State

STANDSTILLS = ObservationKind.STANDING_STILL.value
# What a stuck worker does:
WAITING_ACTIVITIES = ("collective", "backward", "device")  # it may wait for other workers
LONG_ACTIVITIES = ("compiling", "checkpoint")  # take long, but end


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds for a single long step.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    min_seconds: float = 5.0  # restarts of loader processes and garbage collection take less
    median_factor: float = 300.0
    min_share: float = 0.1  # of the training time so far
    max_standstills: int = 64  # remembered per worker


LIMITS = Calibration()


@dataclass(frozen=True)
class Pause:
    """A step in which training was stuck, and where."""

    worker: int
    step: int
    start_ns: int
    end_ns: int
    seconds: float
    median: float
    share: float  # of the training time so far
    phase: str  # with the most time
    activity: str  # of the framework; empty if unknown
    line: str  # of the script; empty if unknown

    @property
    def is_waiting(self) -> bool:
        """Whether the worker may have waited for another worker."""
        activity = self.activity or self.phase
        return activity in WAITING_ACTIVITIES


def record_standstills(window: Window, state: State) -> None:
    """Store where workers were stuck while no step ended."""
    for observation in window.observations(STANDSTILLS):
        if observation.value:
            standstills = state.setdefault(str(observation.worker), [])
            since_ns = observation.time_ns - round(observation.value * NANOSECONDS)
            standstills.append(
                [
                    since_ns,
                    observation.time_ns,
                    Stall.of(observation).activity,
                    observation.subject,
                ]
            )
            del standstills[: -LIMITS.max_standstills]


def find_pauses(
    table: StepTable, seconds: FloatArray, is_usable: BoolArray, state: State, standstills: State
) -> Iterator[Pause]:
    """Find single long pauses among the steps of one worker.

    Args:
        table: The steps.
        seconds: The durations of the steps, without evaluations and checkpoints.
        is_usable: Whether a step counts: not profiled, and not one of the first.
        state: Has `recent`, the durations of recent steps, and `total`, the time of all steps.
        standstills: Filled by `record_standstills`.
    """
    typical = median_of(state["recent"])
    minimum = max(
        LIMITS.min_seconds, LIMITS.median_factor * typical, LIMITS.min_share * float(state["total"])
    )
    for index in np.flatnonzero(is_usable & (seconds > minimum)).tolist():
        start_ns, end_ns = int(table.starts_ns[index]), int(table.ends_ns[index])
        spent = {name: int(item[index]) for name, item in table.phases_ns.items()}
        phase = max(spent, key=lambda name: spent[name])
        activity, line = _activity_in(standstills.get(str(table.worker), []), start_ns, end_ns)
        if activity in LONG_ACTIVITIES or phase == Phase.DATA_WAIT:
            continue
        share = float(seconds[index]) / float(state["total"])
        times = (start_ns, end_ns, float(seconds[index]), typical, share)
        yield Pause(table.worker, int(table.steps[index]), *times, phase, activity, line)


def _activity_in(
    standstills: Sequence[Sequence[object]], start_ns: int, end_ns: int
) -> tuple[str, str]:
    """Return the activity and the line in which a worker was stuck between two times."""
    for since_ns, time_ns, activity, line in reversed(standstills):
        if int(str(time_ns)) >= start_ns and int(str(since_ns)) <= end_ns:
            return str(activity), str(line)
    return "", ""
