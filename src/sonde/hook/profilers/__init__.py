"""Profilers: each looks deeper for a few steps. A file here is a profiler."""

from sonde.hook.profilers._profiler import Profiler
from sonde.plugins import Slot

PROFILERS = Slot("sonde.hook.profilers", Profiler)

__all__ = ["PROFILERS", "Profiler"]
