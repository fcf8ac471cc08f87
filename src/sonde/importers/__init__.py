"""Importers: each module converts recordings of another tool into a job."""

from sonde.importers._download import Location, local_recording
from sonde.importers._importer import Importer, Intake
from sonde.importers._job import JobDraft
from sonde.plugins import Slot

IMPORTERS = Slot("sonde.importers", Importer)

__all__ = ["IMPORTERS", "Importer", "Intake", "JobDraft", "Location", "local_recording"]
