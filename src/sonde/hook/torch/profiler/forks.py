"""What PyTorch's profiler leaves behind in a process that is forked later."""

import ctypes
import os
from contextlib import suppress

_USES: list[str] = []  # in this process


def was_used() -> None:
    """From now on a forked child must not look for the profiler's threads, which are not there."""
    if not _USES:
        _USES.append("here")


def _forked() -> None:
    """Lets the child end right after Python has, with the code that Python gave.

    What C++ would clean up then waits for threads of the parent: the child would never end, or be
    taken down. What is registered last is called first.
    """
    if _USES:
        with suppress(AttributeError, OSError):  # a system whose library has no such call
            library = ctypes.CDLL(None)
            leave, flush = library["_exit"], library["fflush"]
            library["on_exit"](ctypes.cast(leave, ctypes.c_void_p), None)
            library["__cxa_atexit"](ctypes.cast(flush, ctypes.c_void_p), None, None)


os.register_at_fork(after_in_child=_forked)
