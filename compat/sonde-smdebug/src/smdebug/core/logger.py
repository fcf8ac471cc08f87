"""The logger of the package."""

import logging


def get_logger(name: str = "smdebug") -> logging.Logger:
    """The logger that all modules use."""
    return logging.getLogger(name)
