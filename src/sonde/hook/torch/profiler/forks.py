"""Lets processes forked after profiling exit cleanly."""

import ctypes
import os
from contextlib import suppress

_USES: list[str] = []  # not empty once this process has used the profiler


def mark_used() -> None:
    """Note that the profiler was used, whose threads will not exist in forked children."""
    if not _USES:
        _USES.append("here")


def _forked() -> None:
    """Make the child exit right after Python does, with Python's exit code.

    C++ cleanup would wait for threads of the parent, and the child would hang or crash. Exit
    handlers run in reverse order of registration.
    """
    if _USES:
        with suppress(AttributeError, OSError):  # not available in every C library
            library = ctypes.CDLL(None)
            leave, flush = library["_exit"], library["fflush"]
            library["on_exit"](ctypes.cast(leave, ctypes.c_void_p), None)
            library["__cxa_atexit"](ctypes.cast(flush, ctypes.c_void_p), None, None)


os.register_at_fork(after_in_child=_forked)
