"""Profilers: each looks deeper for a few steps. A file here is a profiler."""

from sonde.collect.profilers._profiler import Profiler
from sonde.plugins import Slot

PROFILERS = Slot("sonde.collect.profilers", Profiler)

__all__ = ["PROFILERS", "Profiler"]
