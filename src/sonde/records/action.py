"""What followed findings: which action was taken, and what came of it."""

from dataclasses import dataclass
from enum import StrEnum

from sonde.records.finding import Severity


class ActionStatus(StrEnum):
    """What became of an action."""

    WAITING = "waiting"  # for its turn, or for another attempt
    DONE = "done"
    FAILED = "failed"  # for good
    REFUSED = "refused"  # the finding does not matter enough for it
    HELD_BACK = "held-back"  # until the cool-down since the last one is over


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """One action on one episode."""

    action: str
    episode: str
    rule: str
    severity: Severity
    status: ActionStatus
    time_ns: int  # of the latest word about it
    message: str = ""
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class ActionLog:
    """All actions of a job, the oldest first."""

    entries: tuple[ActionRecord, ...] = ()
