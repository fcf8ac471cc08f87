"""Notices about the recording itself: lost data, disabled collectors, changed settings."""

from dataclasses import dataclass
from enum import StrEnum

INSIDE = "the inside of the job"  # `what` of a notice about a process without a hook
TRAINING_STEPS = "training steps"  # `what` if a worker cannot record


def notice_label(what: str) -> str:
    """The subject of a notice as shown to users."""
    return "training" if what == INSIDE else what


class NoticeKind(StrEnum):
    """What a notice is about."""

    LOST = "lost"
    SWITCHED_OFF = "switched-off"
    NOT_COLLECTED = "not-collected"
    CLOCK_JUMPED = "clock-jumped"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Notice:
    """Data that is missing, a collector that is off, or a changed setting, with time and reason."""

    kind: NoticeKind
    what: str
    reason: str
    start_ns: int
    end_ns: int

    @property
    def is_loss_of_steps(self) -> bool:
        """Whether training steps were lost because a worker could not start recording."""
        return self.kind is NoticeKind.LOST and TRAINING_STEPS in self.what
