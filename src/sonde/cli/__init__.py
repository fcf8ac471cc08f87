"""The command line: one file per command, named after it."""

from sonde.cli._command import Command
from sonde.plugins import Slot

__all__ = ["COMMANDS", "Command"]

COMMANDS = Slot("sonde.cli", Command)
