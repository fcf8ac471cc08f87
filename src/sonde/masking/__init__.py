"""Masks secrets before anything is recorded: in texts, command lines and variables.

Every text that is recorded passes `mask_text`: tracebacks, messages, notices, findings, names and
details of what happens inside of training. Better one word too many than one key in a store.
"""

from sonde.masking.command import mask_command
from sonde.masking.environment import mask_environment
from sonde.masking.rows import mask_name, mask_texts
from sonde.masking.text import MASK, mask_text, readable

__all__ = [
    "MASK",
    "mask_command",
    "mask_environment",
    "mask_name",
    "mask_text",
    "mask_texts",
    "readable",
]
