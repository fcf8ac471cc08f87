"""A program of the catalog and its variants."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.faults.label import Label, NamedSet

FOLDER = Path(__file__).parent
HEALTHY_FOLDER = "healthy"

_EARLIER_SETS = (1, 2)  # no longer used to set thresholds


class Variant(StrEnum):
    """Whether the faulty or the healthy program runs."""

    FAULTY = "faulty"
    HEALTHY = "healthy"


class Purpose(StrEnum):
    """What a program is used for."""

    CALIBRATION = "calibration"  # thresholds are set on it
    HELD_OUT = "held out"  # judged once, and not inspected before
    EARLIER = "earlier"  # earlier calibration, run to detect regressions


@dataclass(frozen=True)
class Program:
    """A training script and its label."""

    name: str
    folder: str  # the file name of the rule that should report its fault, or `healthy`
    label: Label

    @property
    def path(self) -> Path:
        """The file of the script."""
        return FOLDER / self.folder / f"{self.name}.py"

    @property
    def has_fault(self) -> bool:
        """Whether its faulty variant has a fault; otherwise, it is a hard negative."""
        return self.label.rule is not None

    @property
    def purpose(self) -> Purpose:
        """What it is used for, depending on its set."""
        if self.label.set is NamedSet.HELD_OUT:
            return Purpose.HELD_OUT
        return Purpose.EARLIER if self.label.set in _EARLIER_SETS else Purpose.CALIBRATION

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that exist."""
        return tuple(Variant) if self.has_fault else (Variant.HEALTHY,)
