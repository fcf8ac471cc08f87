"""What a program of the catalogue is, and what may be wrong in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

FOLDER = Path(__file__).parent

Parameters = Mapping[str, Mapping[str, object]]


class Variant(StrEnum):
    """Which of the twins."""

    FAULTY = "faulty"
    HEALTHY = "healthy"


class Part(StrEnum):
    """What a program is for: one half sets thresholds, the other is looked at once."""

    CALIBRATION = "calibration"
    HELD_OUT = "held out"
    EARLIER = "earlier"  # halves of before, to see that nothing is lost


@dataclass(frozen=True)
class Fault:
    """What is wrong in a program, and who is meant to say so."""

    rule: str
    culprit: str = ""  # a word that the finding has to hold
    step: int = 0  # the first at which it can be seen
    within: int | None = None  # steps, where no statistics are needed to be sure
    instead: tuple[str, ...] = ()  # rules that say the same as well
    also: tuple[str, ...] = ()  # rules that may speak of its consequences
    code: int = 0  # how the program ends


@dataclass(frozen=True)
class Program:
    """A training script; a hard negative has no fault."""

    name: str
    part: Part
    fault: Fault | None = None
    workers: int = 1
    given: Parameters = field(default_factory=dict, hash=False)  # where a default is long
    beside: str = ""  # a rule that compares it with a run of another seed
    disk_mib: int = 0  # of a disk of its own that it runs on
    neighbors: int = 0  # processes of others that compute beside the faulty variant

    @property
    def path(self) -> Path:
        """Its file."""
        return FOLDER / ("negatives" if self.fault is None else "programs") / f"{self.name}.py"

    @property
    def variants(self) -> tuple[Variant, ...]:
        """As what it can be run."""
        return (Variant.HEALTHY,) if self.fault is None else tuple(Variant)


# What follows from a model that does not learn, or from weights that are not numbers any more.
DOES_NOT_LEARN = ("LossNotDecreasing", "Overtraining", "PoorWeightInitialization")
NOT_A_NUMBER = ("ExplodingTensor", "LossDiverging", "LossSpike", "GradientNormSpike")
STARTS_BADLY = ("PoorWeightInitialization", "LossSpike", "GradientNormSpike", "LossDiverging")

# The hook compares parameters over six steps before it says that one does not move.
OVER_SIX_STEPS = 6
