"""Profilers that run for a few steps; each public file is one profiler."""

from sonde.hook.profilers._profiler import Profiler
from sonde.plugins import Slot

PROFILERS = Slot("sonde.hook.profilers", Profiler)

__all__ = ["PROFILERS", "Profiler"]
