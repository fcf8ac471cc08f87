"""Whether somebody waits at a terminal for the end of `sonde run`."""

import os
import sys


def is_awaited() -> bool:
    """Whether an interactive shell started this process and gets the terminal back after it.

    Only then may work be left to a process that outlives this one. Anything else may end with this
    process and take that process along (a container, a batch or CI job), or reads the report next
    (a script). An interactive shell gives every command a process group of its own; scripts and the
    first process of a container do not.
    """
    try:
        is_own_group = os.getpgid(os.getppid()) != os.getpgrp()
    except OSError:
        return False
    streams = (sys.stdin, sys.stderr)
    is_terminal = all(stream is not None and stream.isatty() for stream in streams)
    return is_own_group and is_terminal
