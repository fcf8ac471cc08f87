"""Notices about the recording itself: lost data, disabled collectors, changed settings."""

from dataclasses import dataclass
from enum import StrEnum

INSIDE = "the inside of the job"  # `what` of a notice about a process without a hook
HOOK_FAILED = "Sonde's hook could not be loaded into the process"  # its reason, without details
TRAINING_STEPS = "training steps"  # `what` if a worker cannot record


def notice_label(what: str) -> str:
    """The subject of a notice as shown to users."""
    return "training" if what == INSIDE else what


class NoticeKind(StrEnum):
    """What a notice is about."""

    LOST = "lost"
    LOST_STEPS = "lost-steps"  # data that includes training steps, some or all
    SWITCHED_OFF = "switched-off"
    NOT_COLLECTED = "not-collected"
    HOOK_NOT_LOADED = "hook-not-loaded"  # so nothing inside a process is recorded
    CLOCK_JUMPED = "clock-jumped"
    CHANGED = "changed"

    @property
    def is_loss(self) -> bool:
        """Whether data was lost."""
        return self in (NoticeKind.LOST, NoticeKind.LOST_STEPS)


@dataclass(frozen=True, slots=True)
class Notice:
    """Data that is missing, a collector that is off, or a changed setting, with time and reason."""

    kind: NoticeKind
    what: str
    reason: str
    start_ns: int
    end_ns: int
