"""Waits until nobody sends a spool any more, and becomes the process that does.

Started beside every launcher that writes to an object store, as a script of its own that loads
nothing of Sonde: it sleeps in the kernel until the launcher releases its lock or dies.
"""

import fcntl
import os
import sys


def main(lock_path: str, *command: str) -> None:
    """Wait for the lock; if there is still something to send, run the command with it."""
    try:
        lock = os.open(lock_path, os.O_RDWR)
    except FileNotFoundError:  # all has arrived already
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock).st_nlink:  # else the folder was removed: all has arrived
        os.set_inheritable(lock, True)
        os.execv(command[0], [*command, "--lock", str(lock)])


if __name__ == "__main__":
    main(*sys.argv[1:])
