"""Client of a warm Python: passes on its context and exits with the code of the fork.

Started as `python -I -S`, without importing this project, so that it starts quickly.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence


def fork_of(
    name: str,
    words: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    streams: Sequence[int],
) -> int:
    """Run a script in a fork of the warm Python with this name and return its exit code.

    Args:
        name: Address of the warm Python.
        words: The script and its arguments.
        folder: Working directory.
        environment: Environment variables.
        streams: Descriptors of stdin, stdout and stderr.
    """
    reported = json.dumps([words, folder, environment]).encode()
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(f"\0{name}")
        socket.send_fds(asking, [len(reported).to_bytes(4, "big")], list(streams))
        asking.sendall(reported)
        return int(asking.makefile().readline())


if __name__ == "__main__":
    here = os.getcwd()  # noqa: PTH109 — pathlib takes longer to load than all of this
    code = fork_of(sys.argv[1], sys.argv[2:], here, dict(os.environ), (0, 1, 2))
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):  # which cannot be handled
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
