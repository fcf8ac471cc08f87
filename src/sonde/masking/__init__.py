"""Mask secrets in texts, command lines and environment variables before they are recorded.

Every recorded text passes `mask_text`: tracebacks, messages, notices, findings, names and details
of events. Masking too much is better than storing a secret.
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
