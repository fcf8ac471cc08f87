"""Actions taken on findings, and their outcomes."""

from dataclasses import dataclass
from enum import StrEnum

from sonde.records.finding import Severity


class ActionStatus(StrEnum):
    """The outcome of an action."""

    WAITING = "waiting"  # queued, or waiting to be retried
    DONE = "done"
    FAILED = "failed"  # no more retries
    REFUSED = "refused"  # the finding's severity is below the action's threshold
    HELD_BACK = "held-back"  # until the cool-down after the last action ends


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """One action on one episode."""

    action: str
    episode: str
    rule: str
    severity: Severity
    status: ActionStatus
    time_ns: int  # of the last update
    message: str = ""
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class ActionLog:
    """All actions of a job, oldest first."""

    entries: tuple[ActionRecord, ...] = ()
