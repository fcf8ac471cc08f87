"""CollectiveHang: workers wait for one that does not come."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonde.clock import NANOSECONDS
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.read.workers import WorkerLife
from sonde.records.finding import Finding, Severity
from sonde.records.job import ExitReason
from sonde.records.need import Observations, Steps
from sonde.records.observation import ObservationKind
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg

_KIND = ObservationKind.STANDING_STILL.value
_WAITING = ("collective", "backward", "device")
_WORKING = ("compiling", "checkpoint")  # takes long, and ends
_SILENT_SECONDS = 60.0  # without a sign of life
_FATAL_SECONDS = 600.0  # collectives give up after ten minutes or thirty
_NAMED = 8
_SUBJECT = "job"
_FAILED = "in a collective"  # how the detail of such a failure begins


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one worker stands."""

    worker: int
    node: str
    said: str
    seconds: float
    is_waiting: bool = False
    is_gone: bool = False


class CollectiveHang(Rule):
    """A worker does not reach a collective that the others wait in.

    Why it matters: all workers stand still, and hold their machines until somebody looks or a
    timeout of many minutes takes the job down.
    How it decides: workers have stood in a collective, a backward pass or at their device for
    `seconds` and 20 times a usual step, and no worker goes on; or a collective has failed, and not
    every worker was in it. The one that stands elsewhere, has
    ended, or gives no sign of life is named; where all of them wait, they do not wait in the same
    collective, or the network is gone. Evaluation, compiling and checkpoints of one worker that the
    others wait for do not count.
    What to do: look at the line that is named on that worker: a branch that only some workers take,
    fewer batches than the others have, an exception that was caught, a lock, a dead disk.
    """

    seconds: Positive = 120.0

    needs = (Observations(_KIND), Steps())
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        *("StalledTrainingRule", "IdleGPU", "LowGPUUtilization", "StepOutlier", "ThroughputDrop"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Puts together where all workers stand."""
        begin_leg(window, state)
        window.steps()
        standing = state.of("standing")
        for one in window.observations(_KIND):
            _note(one, standing)
        state["workers"] = len(window.leg.ranks)
        at_the_end = _at_the_end(window, standing) if window.is_last else []
        if at_the_end:
            yield self._found(at_the_end, longest=0.0)
            return
        if len(window.leg.ranks) < 2 or not standing:
            yield self.recovered(_SUBJECT)
            return
        places = [_place(life, standing, window) for life in window.leg.lives]
        if any(place is None for place in places):  # somebody goes on: the others will, too
            yield self.recovered(_SUBJECT)
            return
        known = [place for place in places if place is not None]
        longest = max((one.seconds for one in known if one.is_waiting), default=0.0)
        if longest >= self.seconds:
            yield self._found(known, longest)

    def unfit(self, state: State) -> str:
        """Jobs of one worker."""
        return "there is one worker only" if state.get("workers", 0) == 1 else ""

    def _found(self, places: Sequence[_Place], longest: float) -> Finding:
        missing = [one for one in places if not one.is_waiting]
        waiting = [one for one in places if one.is_waiting]
        is_fatal = longest >= _FATAL_SECONDS or any(one.is_gone for one in missing)
        culprit = missing[0] if missing else None
        said = "; ".join(f"worker {one.worker} {one.said}" for one in missing[:_NAMED])
        said = said or "all workers are there, in different collectives or without a network"
        waited = f"have waited for {longest:.0f} s" if longest else "were in a collective"
        return self.finding(
            f"{len(waiting)} of {len(places)} workers {waited}; worker {waiting[0].worker} "
            f"{waiting[0].said}; {said}.",
            severity=Severity.CRITICAL if is_fatal else Severity.WARNING,
            worker=None if culprit is None else culprit.worker,
            node=None if culprit is None else culprit.node,
            subject=_SUBJECT,
            evidence={
                "waiting": [float(one.worker) for one in waiting],
                "missing": [float(one.worker) for one in missing],
                "lost_seconds": longest,
                "places": [f"worker {one.worker} {one.said}" for one in places[:_NAMED]],
            },
        )


def _at_the_end(window: Window, standing: State) -> list[_Place]:
    """Where workers were when collectives failed; nothing, where that is not what happened."""
    found = []
    for life in window.leg.lives:
        rank, node, failure = life.info.rank, life.info.node, life.failure
        if failure is not None and failure.detail.startswith(_FAILED):
            said = f"failed {failure.detail}"
            found.append(_Place(rank, node, said, 0.0, is_waiting=True))
        elif failure is not None and failure.reason is ExitReason.EXCEPTION:
            return []  # it died of something else, and the others of that
        else:
            stands = standing.get(str(rank))
            said = "was not there" if stands is None else f"stood in {stands['line']}"
            found.append(_Place(rank, node, said, 0.0, is_gone=True))
    is_some = any(one.is_waiting for one in found) and any(one.is_gone for one in found)
    return found if is_some else []


def _note(one: Observation, standing: State) -> None:
    """Remembers where a worker stands, until it goes on."""
    if not one.value:
        standing.pop(str(one.worker), None)
        return
    part = str(one.facts.get("in", ""))
    since_ns = one.time_ns - round(one.value * NANOSECONDS)
    standing[str(one.worker)] = {"in": part, "line": one.subject, "since_ns": since_ns}


def _place(life: WorkerLife, standing: State, window: Window) -> _Place | None:
    """Where a worker stands at the window's end; None of one that goes on."""
    rank, node, beat = life.info.rank, life.info.node, life.beat
    heard_ns = window.end_ns if beat is None else beat.time_ns
    silent = (window.end_ns - heard_ns) / NANOSECONDS
    if beat is not None and beat.is_over and silent >= 0:
        return _Place(rank, node, "has ended", silent, is_gone=True)
    if silent > _SILENT_SECONDS:
        return _Place(rank, node, "gives no sign of life", silent, is_gone=True)
    stands = standing.get(str(rank))
    if stands is None:
        return None
    seconds = (window.end_ns - int(stands["since_ns"])) / NANOSECONDS
    if stands["in"] in _WORKING and seconds < _FATAL_SECONDS:
        return None
    part = f" ({stands['in']})" if stands["in"] else ""
    said = f"stands in {stands['line'] or 'unknown code'}{part}"
    return _Place(rank, node, said, seconds, is_waiting=stands["in"] in _WAITING)
