"""Masks secrets before anything is recorded: in texts, command lines and variables.

Every text that is recorded passes `mask_text`: tracebacks, messages, notices, findings. Better one
word too many than one key in a store.
"""

from sonde.masking.command import mask_command
from sonde.masking.environment import mask_environment
from sonde.masking.text import MASK, mask_text, readable

__all__ = ["MASK", "mask_command", "mask_environment", "mask_text", "readable"]
