"""Other programs' formats: one file per format."""

from sonde.plugins import Slot
from sonde.show.exports._export import Column, Export, Selection

__all__ = ["EXPORTS", "Column", "Export", "Selection"]

EXPORTS = Slot("sonde.show.exports", Export)
