"""A little room kept on a disk for last words.

A disk that was filled to the brim takes no exit code and no word of what was lost. So a few
kilobytes are taken at the start, and given back when there is something to say.
"""

import os

from sonde.store.backends import Backend

_BYTES = 32 * 1024


def take_reserve(backend: Backend, key: str) -> None:
    """Takes the room, where room has a limit."""
    if backend.free_bytes() is not None:
        backend.write(key, os.urandom(_BYTES))  # zeros would take nothing on some file systems


def release_reserve(backend: Backend, key: str) -> None:
    """Gives it back."""
    if backend.free_bytes() is not None:
        backend.delete([key])
