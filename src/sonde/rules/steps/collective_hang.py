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
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.training_kind import begin_attempt

_KIND = ObservationKind.STANDING_STILL.value
_WAITING = ("collective", "backward", "device")
_WORKING = ("compiling", "checkpoint")  # takes long, and ends
_MAX_LISTED = 8
_SUBJECT = "job"
_FAILED = "in a collective"  # how the detail of such a failure begins


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of CollectiveHang.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    silent_seconds: float = 60.0  # without a heartbeat
    fatal_seconds: float = 600.0  # default timeout of NCCL collectives (10 minutes); Gloo has 30


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class _Placement:
    """Where a worker is stuck."""

    worker: int
    node: str
    description: str
    seconds: float
    is_waiting: bool = False
    is_gone: bool = False


class CollectiveHang(Rule):
    """A worker does not reach a collective in which the others are waiting.

    Why it matters: All workers are stuck, and occupy their machines until someone notices or a
    timeout ends the job.
    How it decides:
    - No worker makes progress, and some have been stuck in a collective, a backward pass or a
      device synchronization for `seconds` and 20 times the median step.
    - Or a collective failed, and not every worker was in it.
    - Names the worker that is stuck elsewhere, has exited, or sends no heartbeat. If all are
      waiting, they are in different collectives or the network is down.
    - Not applied while a worker evaluates, compiles or saves a checkpoint (up to 10 minutes), and
      to jobs with one worker.
    What to do: Look at the reported line on that worker: a branch that only some workers take,
    fewer batches than the others have, a swallowed exception, a lock, or a dead disk.
    """

    seconds: Positive = 120.0

    section = Section.SPEED
    calibration = LIMITS
    needs = (Observations(_KIND), Steps())
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        *("StalledTrainingRule", "IdleGPU", "LowGPUUtilization", "StepOutlier", "ThroughputDrop"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Puts together where all workers stand."""
        begin_attempt(window, state)
        window.steps()
        standing = state.of("standing")
        for observation in window.observations(_KIND):
            _note(observation, standing)
        state["workers"] = len(window.attempt.ranks)
        at_the_end = _at_the_end(window, standing) if window.is_last else []
        if at_the_end:
            yield self._finding(at_the_end, longest=0.0)
            return
        if len(window.attempt.ranks) < 2 or not standing:
            yield self.recovered(_SUBJECT)
            return
        placements = [_placement(life, standing, window) for life in window.attempt.lives]
        if any(
            placement is None for placement in placements
        ):  # somebody goes on: the others will, too
            yield self.recovered(_SUBJECT)
            return
        stuck = [placement for placement in placements if placement is not None]
        longest = max(
            (placement.seconds for placement in stuck if placement.is_waiting), default=0.0
        )
        if longest >= self.seconds:
            yield self._finding(stuck, longest)

    def unfit(self, state: State) -> str:
        """Jobs of one worker."""
        return "the job has only one worker" if state.get("workers", 0) == 1 else ""

    def _finding(self, placements: Sequence[_Placement], longest: float) -> Finding:
        missing = [placement for placement in placements if not placement.is_waiting]
        waiting = [placement for placement in placements if placement.is_waiting]
        is_fatal = longest >= LIMITS.fatal_seconds or any(
            placement.is_gone for placement in missing
        )
        culprit = missing[0] if missing else None
        text = "; ".join(
            f"worker {placement.worker} {placement.description}"
            for placement in missing[:_MAX_LISTED]
        )
        text = (
            text
            or "all workers are waiting: in different collectives, or because the network is down"
        )
        has, was = ("has", "was") if len(waiting) == 1 else ("have", "were")
        waited = f"{has} been waiting for {longest:.0f} s" if longest else f"{was} in a collective"
        return self.finding(
            f"{len(waiting)} of {len(placements)} workers {waited}; worker {waiting[0].worker} "
            f"{waiting[0].description}; {text}.",
            severity=Severity.CRITICAL if is_fatal else Severity.WARNING,
            worker=None if culprit is None else culprit.worker,
            node=None if culprit is None else culprit.node,
            subject=_SUBJECT,
            evidence={
                "waiting": [float(placement.worker) for placement in waiting],
                "missing": [float(placement.worker) for placement in missing],
                "lost_seconds": longest,
                "places": [
                    f"worker {placement.worker} {placement.description}"
                    for placement in placements[:_MAX_LISTED]
                ],
            },
        )


def _at_the_end(window: Window, standing: State) -> list[_Placement]:
    """Where workers were when collectives failed; nothing, where that is not what happened."""
    placements = []
    for life in window.attempt.lives:
        rank, node, failure = life.info.rank, life.info.node, life.failure
        if failure is not None and failure.detail.startswith(_FAILED):
            text = f"failed {failure.detail}"
            placements.append(_Placement(rank, node, text, 0.0, is_waiting=True))
        elif failure is not None and failure.reason is ExitReason.EXCEPTION:
            return []  # it died of something else, and the others of that
        else:
            standstill = standing.get(str(rank))
            text = "was not in it" if standstill is None else f"was stuck in {standstill['line']}"
            placements.append(_Placement(rank, node, text, 0.0, is_gone=True))
    is_some = any(placement.is_waiting for placement in placements) and any(
        placement.is_gone for placement in placements
    )
    return placements if is_some else []


def _note(observation: Observation, standing: State) -> None:
    """Remember where a worker is stuck, until it continues."""
    if not observation.value:
        standing.pop(str(observation.worker), None)
        return
    activity = str(observation.facts.get("in", ""))
    since_ns = observation.time_ns - round(observation.value * NANOSECONDS)
    standing[str(observation.worker)] = {
        "in": activity,
        "line": observation.subject,
        "since_ns": since_ns,
    }


def _placement(life: WorkerLife, standing: State, window: Window) -> _Placement | None:
    """Where a worker is stuck at the end of the window; None if it is not."""
    rank, node, beat = life.info.rank, life.info.node, life.beat
    heard_ns = window.end_ns if beat is None else beat.time_ns
    silent = (window.end_ns - heard_ns) / NANOSECONDS
    if beat is not None and beat.is_over and silent >= 0:
        return _Placement(rank, node, "has exited", silent, is_gone=True)
    if silent > LIMITS.silent_seconds:
        return _Placement(rank, node, "sends no heartbeat", silent, is_gone=True)
    standstill = standing.get(str(rank))
    if standstill is None:
        return None
    seconds = (window.end_ns - int(standstill["since_ns"])) / NANOSECONDS
    if standstill["in"] in _WORKING and seconds < LIMITS.fatal_seconds:
        return None
    activity = f" ({standstill['in']})" if standstill["in"] else ""
    text = f"is stuck in {standstill['line'] or 'unknown code'}{activity}"
    return _Placement(rank, node, text, seconds, is_waiting=standstill["in"] in _WAITING)
