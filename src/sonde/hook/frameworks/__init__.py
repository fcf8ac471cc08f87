"""Adapters, one file per framework, named after the module that the script imports."""

from sonde.hook.frameworks._adapter import Adapter as Adapter
from sonde.plugins import Slot

ADAPTERS: Slot[Adapter] = Slot("sonde.hook.frameworks", Adapter)
