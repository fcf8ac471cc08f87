"""How much data a rule lacks."""

from dataclasses import dataclass
from enum import StrEnum


class DataUnit(StrEnum):
    """What rules count. The value is the plural."""

    singular: str
    source: str  # a sentence about what gives more of it, unless training longer is all

    def __new__(cls, plural: str, singular: str, source: str = "") -> "DataUnit":
        """Create a unit from its plural, its singular and its source."""
        member = str.__new__(cls, plural)
        member._value_ = plural
        member.singular = singular
        member.source = source
        return member

    STEPS = "steps", "step"
    SETTLED_STEPS = "steps after the first 10", "step after the first 10"
    STEPS_BETWEEN = "steps between inspections", "step between inspections"
    WORKER_STEPS = "steps common to all workers", "step common to all workers"
    CLIPPED_STEPS = "steps with clipped gradients", "step with clipped gradients"
    COMMON_STEPS = "steps recorded in both jobs", "step recorded in both jobs"
    INSPECTIONS = "inspections", "inspection"
    EVALUATIONS = "evaluations", "evaluation", "Evaluate more often"
    GRADIENT_NORMS = "gradient norms", "gradient norm"
    LABELS = "labels", "label"
    TOKENS = "tokens", "token"
    IMAGES = "images", "image"
    BATCH_SAMPLES = "samples per batch", "sample per batch"
    PROFILE_SAMPLES = (
        *("profile samples", "profile sample"),
        "To get more: `sonde profile JOB`",
    )
    SYSTEM_SAMPLES = (
        *("system samples", "system sample"),
        "Only samples during training count",
    )
    BUSY_GPU_SAMPLES = (
        *("samples of a busy GPU in 15 s", "sample of a busy GPU in 15 s"),
        "Only samples above 50% utilization count",
    )
    SECONDS = "seconds", "second"

    def amount(self, number: int) -> str:
        """A count with its unit, such as `1 step` or `5,000 steps`."""
        return f"{number:,} {self.singular if number == 1 else self.value}"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """How much data a rule has and how much it needs; its text is the reason shown to users.

    A rule returns it from `lacks`, or a plain text if there is nothing to count.
    """

    has: int
    needs: int
    unit: DataUnit

    def __str__(self) -> str:
        return f"Not enough data: {self.has:,} of {self.unit.amount(self.needs)}"

    @property
    def explanation(self) -> str:
        """The text, and what gives more data."""
        return f"{self}. {self.unit.source}" if self.unit.source else str(self)
