"""CollectiveHang: workers wait in a collective that another worker does not reach."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration
from sonde.read.failures import failed_collective
from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.read.workers import WorkerLife
from sonde.records.finding import Finding, Severity
from sonde.records.job import ExitReason
from sonde.records.need import Observations, Steps
from sonde.records.observations.training import Stall
from sonde.rules._parameters import Positive
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.standstills import LONG_ACTIVITIES, STANDSTILLS, WAITING_ACTIVITIES
from sonde.rules.measures.training_kind import begin_attempt

_MAX_LISTED = 8
_SUBJECT = "job"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of CollectiveHang.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    silent_seconds: float = 60.0  # without a heartbeat
    fatal_seconds: float = 600.0  # default timeout of NCCL collectives; for Gloo it is 30 minutes


LIMITS = Calibration()


@dataclass(frozen=True, slots=True)
class _WorkerStatus:
    """What a worker does during a hang."""

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
    needs = (Observations(STANDSTILLS), Steps())
    window_steps: ClassVar[int | None] = None
    window_seconds: ClassVar[float | None] = 10.0
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = (
        *("StalledTrainingRule", "IdleGPU", "LowGPUUtilization", "StepOutlier", "ThroughputDrop"),
    )

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Find hangs from the latest status of all workers."""
        begin_attempt(window, state)
        window.steps()
        standstills = state.of("standing")
        for observation in window.observations(STANDSTILLS):
            _update_standstill(observation, standstills)
        state["workers"] = len(window.attempt.ranks)
        failed = _failed_collective(window, standstills) if window.is_last else []
        if failed:
            yield self._finding(failed, longest=0.0)
            return
        if len(window.attempt.ranks) < 2 or not standstills:
            yield self.recovered(_SUBJECT)
            return
        statuses = [_status(life, standstills, window) for life in window.attempt.lives]
        stuck = [status for status in statuses if status is not None]
        if len(stuck) < len(statuses):  # a worker makes progress, so the others will, too
            yield self.recovered(_SUBJECT)
            return
        longest = max((status.seconds for status in stuck if status.is_waiting), default=0.0)
        if longest >= self.seconds:
            yield self._finding(stuck, longest)

    def unfit(self, state: State) -> str:
        """Jobs with one worker."""
        return "the job has only one worker" if state.get("workers", 0) == 1 else ""

    def _finding(self, statuses: Sequence[_WorkerStatus], longest: float) -> Finding:
        missing = [status for status in statuses if not status.is_waiting]
        waiting = [status for status in statuses if status.is_waiting]
        is_fatal = longest >= LIMITS.fatal_seconds or any(status.is_gone for status in missing)
        culprit = missing[0] if missing else None
        text = "; ".join(
            f"worker {status.worker} {status.description}" for status in missing[:_MAX_LISTED]
        )
        text = (
            text
            or "all workers are waiting: in different collectives, or because the network is down"
        )
        has, was = ("has", "was") if len(waiting) == 1 else ("have", "were")
        waiting_text = f"{has} been waiting for {format_duration(longest)}"
        waited = waiting_text if longest else f"{was} in a collective"
        return self.finding(
            f"{len(waiting)} of {len(statuses)} workers {waited}; worker {waiting[0].worker} "
            f"{waiting[0].description}; {text}.",
            severity=Severity.CRITICAL if is_fatal else Severity.WARNING,
            worker=None if culprit is None else culprit.worker,
            node=None if culprit is None else culprit.node,
            subject=_SUBJECT,
            evidence={
                "waiting": [float(status.worker) for status in waiting],
                "missing": [float(status.worker) for status in missing],
                "lost_seconds": longest,
                "places": [
                    f"worker {status.worker} {status.description}"
                    for status in statuses[:_MAX_LISTED]
                ],
            },
        )


def _failed_collective(window: Window, standstills: State) -> list[_WorkerStatus]:
    """Return the status of each worker if a collective failed without some of them, else nothing.

    A worker that ended with another exception is the cause of the failure, so nothing is returned.
    """
    statuses = []
    for life in window.attempt.lives:
        rank, node, failure = life.info.rank, life.info.node, life.failure
        collective = "" if failure is None else failed_collective(failure)
        if collective:
            text = f"failed in a collective: {collective}"
            statuses.append(_WorkerStatus(rank, node, text, 0.0, is_waiting=True))
        elif failure is not None and failure.reason is ExitReason.EXCEPTION:
            return []
        else:
            standstill = standstills.get(str(rank))
            text = "was not in it" if standstill is None else f"was stuck in {standstill['line']}"
            statuses.append(_WorkerStatus(rank, node, text, 0.0, is_gone=True))
    is_partial = len({status.is_waiting for status in statuses}) == 2
    return statuses if is_partial else []


def _update_standstill(observation: Observation, standstills: State) -> None:
    """Store where a worker is stuck, until it continues."""
    if not observation.value:
        standstills.pop(str(observation.worker), None)
        return
    activity = Stall.of(observation).activity
    since_ns = observation.time_ns - round(observation.value * NANOSECONDS)
    standstills[str(observation.worker)] = {
        "in": activity,
        "line": observation.subject,
        "since_ns": since_ns,
    }


def _status(life: WorkerLife, standstills: State, window: Window) -> _WorkerStatus | None:
    """Return the status of a worker at the end of the window, or None if it makes progress."""
    rank, node, heartbeat = life.info.rank, life.info.node, life.beat
    last_ns = window.end_ns if heartbeat is None else heartbeat.time_ns
    silent = (window.end_ns - last_ns) / NANOSECONDS
    if heartbeat is not None and heartbeat.is_over and silent >= 0:
        return _WorkerStatus(rank, node, "has exited", silent, is_gone=True)
    if silent > LIMITS.silent_seconds:
        return _WorkerStatus(rank, node, "sends no heartbeat", silent, is_gone=True)
    standstill = standstills.get(str(rank))
    if standstill is None:
        return None
    seconds = (window.end_ns - int(standstill["since_ns"])) / NANOSECONDS
    if standstill["in"] in LONG_ACTIVITIES and seconds < LIMITS.fatal_seconds:
        return None
    activity = f" ({standstill['in']})" if standstill["in"] else ""
    text = f"is stuck in {standstill['line'] or 'unknown code'}{activity}"
    return _WorkerStatus(
        rank, node, text, seconds, is_waiting=standstill["in"] in WAITING_ACTIVITIES
    )
