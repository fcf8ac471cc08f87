"""Single pauses: a step that takes hundreds of times as long as the others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.analyze.robust import middle_of
from sonde.clock import NANOSECONDS
from sonde.read.steps import StepTable
from sonde.read.window import Window
from sonde.read.workers import Marks
from sonde.records.observation import ObservationKind
from sonde.records.step import Phase
from sonde.rules._rule import State

Seconds = npt.NDArray[np.float64]

STANDING = ObservationKind.STANDING_STILL.value
_LEAST_SECONDS = 5.0  # new loader processes and a garbage collection take less
_TIMES_USUAL = 300.0  # a step that is merely slow takes less
_LEAST_SHARE = 0.1  # of the training so far: else the job does not feel it
_MOST_KNOWN = 64  # standstills that are remembered
_WAITING = ("collective", "backward", "device")  # for other workers
_ON_PURPOSE = ("compiling", "checkpoint")


@dataclass(frozen=True)
class Pause:
    """One step that stood still, and where."""

    worker: int
    step: int
    start_ns: int
    end_ns: int
    seconds: float
    usual: float
    share: float  # of the training so far
    phase: str  # in which most of it was lost
    part: str  # of the framework that it stood in; empty where that is unknown
    line: str  # of the script

    @property
    def is_waiting(self) -> bool:
        """Whether it may have waited for another worker, whatever that one did."""
        return self.part in _WAITING or (not self.part and self.phase in _WAITING)


def note_standstills(window: Window, state: State) -> None:
    """Remembers where workers stood while no step ended."""
    for one in window.observations(STANDING):
        if one.value:
            known = state.setdefault(str(one.worker), [])
            since_ns = one.time_ns - round(one.value * NANOSECONDS)
            known.append([since_ns, one.time_ns, str(one.facts.get("in", "")), one.subject])
            del known[:-_MOST_KNOWN]


def pauses_of(
    table: StepTable, seconds: Seconds, is_usable: Marks, known: State, standstills: State
) -> Iterator[Pause]:
    """The pauses among some steps of one worker.

    Args:
        table: The steps.
        seconds: How long they took, without evaluations and checkpoints.
        is_usable: Those without a profiler, after the first ones.
        known: With `recent`, the seconds of the steps before, and `total`, of all of them.
        standstills: What `note_standstills` has noted.
    """
    usual = middle_of(known["recent"])
    least = max(_LEAST_SECONDS, _TIMES_USUAL * usual, _LEAST_SHARE * float(known["total"]))
    for place in np.flatnonzero(is_usable & (seconds > least)).tolist():
        start_ns, end_ns = int(table.starts_ns[place]), int(table.ends_ns[place])
        spent = {name: int(one[place]) for name, one in table.phases_ns.items()}
        phase = max(spent, key=lambda name: spent[name])
        part, line = _place(standstills.get(str(table.worker), []), start_ns, end_ns)
        if part in _ON_PURPOSE or phase == Phase.DATA_WAIT:
            continue
        share = float(seconds[place]) / float(known["total"])
        times = (start_ns, end_ns, float(seconds[place]), usual, share)
        yield Pause(table.worker, int(table.steps[place]), *times, phase, part, line)


def _place(known: Sequence[Sequence[object]], start_ns: int, end_ns: int) -> tuple[str, str]:
    """Which part of the framework, and which line, a worker stood in between two times."""
    for since_ns, time_ns, part, line in reversed(known):
        if int(str(time_ns)) >= start_ns and int(str(since_ns)) <= end_ns:
            return str(part), str(line)
    return "", ""
