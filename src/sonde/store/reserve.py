"""A little room kept on a disk for last words.

A disk that was filled to the brim takes no exit code and no word of what was lost. So a few
kilobytes and inodes are taken at the start, and given back when there is something to say.
"""

import os

from sonde.store.backends import Backend

_BYTES = 32 * 1024
_FILES = 8  # two exits, a heartbeat, a list of files, a log of what was lost and its folder


def take_reserve(backend: Backend, key: str) -> None:
    """Takes the room, where room has a limit."""
    if backend.free_bytes() is not None:
        first, *others = _keys(key)
        backend.write(first, os.urandom(_BYTES))  # zeros would take nothing on some file systems
        for other in others:
            backend.append(other, 0, b"")


def release_reserve(backend: Backend, key: str) -> None:
    """Gives it back."""
    if backend.free_bytes() is not None:
        backend.delete(_keys(key))


def _keys(key: str) -> list[str]:
    return [key, *(f"{key}-{number}" for number in range(1, _FILES))]
