"""What Sonde has to say about its own recording."""

from dataclasses import dataclass
from enum import StrEnum

INSIDE = "the inside of the job"  # what is not collected where nobody can look into the process
TRAINING_STEPS = "training steps"  # what is lost where a worker cannot begin its recording


class NoticeKind(StrEnum):
    """Why a notice was written."""

    LOST = "lost"
    SWITCHED_OFF = "switched-off"
    NOT_COLLECTED = "not-collected"
    CLOCK_JUMPED = "clock-jumped"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something missing, switched off or changed, from when to when, and why."""

    kind: NoticeKind
    what: str
    reason: str
    start_ns: int
    end_ns: int

    @property
    def is_loss_of_steps(self) -> bool:
        """Whether training steps were lost because a worker could not begin its recording."""
        return self.kind is NoticeKind.LOST and TRAINING_STEPS in self.what
