"""Warnings that are shown once per process."""

import warnings

_shown: set[str] = set()


def warn_once(message: str) -> None:
    """Show a warning, unless it was shown before."""
    if message not in _shown:
        _shown.add(message)
        warnings.warn(f"smdebug: {message}", stacklevel=3)
