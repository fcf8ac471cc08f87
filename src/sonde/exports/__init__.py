"""Exports to the formats of other programs, one file per format."""

from sonde.exports._export import Column, Export, Selection
from sonde.plugins import Slot

__all__ = ["EXPORTS", "Column", "Export", "Selection"]

EXPORTS = Slot("sonde.exports", Export)
