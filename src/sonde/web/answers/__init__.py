"""What the server answers: one file per subject, each with the addresses that it looks after."""

from sonde.plugins import Slot
from sonde.web.answers._answers import Address, Answers

__all__ = ["ANSWERS", "Address", "Answers"]

ANSWERS = Slot("sonde.web.answers", Answers)
