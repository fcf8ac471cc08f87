"""Disk space reserved for the final documents of an attempt.

On a full disk, neither the exit code nor lost data could be recorded. So a few kilobytes and inodes
are allocated at the start and released at the end.
"""

import os

from sonde.store.backends import Backend

_BYTES = 32 * 1024
_FILES = 8  # two exits, a heartbeat, a list of files, a log of lost data and its folder


def take_reserve(backend: Backend, key: str) -> None:
    """Reserve space, on backends with limited space."""
    if backend.free_bytes() is not None:
        first, *placeholders = _keys(key)
        backend.write(first, os.urandom(_BYTES))  # zeros take no space on some file systems
        for placeholder in placeholders:
            backend.append(placeholder, 0, b"")


def release_reserve(backend: Backend, key: str) -> None:
    """Release the reserved space."""
    if backend.free_bytes() is not None:
        backend.delete(_keys(key))


def _keys(key: str) -> list[str]:
    return [key, *(f"{key}-{number}" for number in range(1, _FILES))]
