"""System collectors: one file per collector."""

from sonde.agent.system._collector import UNKNOWN, Collector, Machine
from sonde.plugins import Slot

__all__ = ["COLLECTORS", "UNKNOWN", "Collector", "Machine"]

COLLECTORS = Slot("sonde.agent.system", Collector)
