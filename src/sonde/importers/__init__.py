"""Importers: each turns other people's recordings into a job. A file here is an importer."""

from sonde.importers._importer import Importer, Intake
from sonde.importers._job import JobDraft
from sonde.plugins import Slot

IMPORTERS = Slot("sonde.importers", Importer)

__all__ = ["IMPORTERS", "Importer", "Intake", "JobDraft"]
