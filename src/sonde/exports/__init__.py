"""Exports to the formats of other programs, one file per format."""

from sonde.exports._export import Column, Export, Selection
from sonde.exports._training import Content, TrainingData
from sonde.plugins import Slot

__all__ = ["EXPORTS", "Column", "Content", "Export", "Selection", "TrainingData"]

EXPORTS = Slot("sonde.exports", Export)
