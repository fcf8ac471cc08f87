"""Wait until no process sends a spool, then send it.

Started by every launcher that writes to an object store, as a script that imports nothing from
Sonde. It sleeps in the kernel until the launcher releases its lock or dies.
"""

import fcntl
import os
import sys


def main(lock_path: str, *command: str) -> None:
    """Wait for the lock; if there is data left to send, run the command with it."""
    try:
        lock = os.open(lock_path, os.O_RDWR)
    except FileNotFoundError:  # everything was sent
        return
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock).st_nlink:  # otherwise the folder was removed: everything was sent
        os.set_inheritable(lock, True)
        os.execv(command[0], [*command, "--lock", str(lock)])


if __name__ == "__main__":
    main(*sys.argv[1:])
