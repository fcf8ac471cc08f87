"""Start a script as two ranks, as torchrun does, without loading PyTorch a third time.

Usage: `python two_ranks.py COMMAND …`. Other tests cover torchrun itself.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence


def main(command: Sequence[str]) -> int:
    """Run both ranks to their end and return the worse exit code."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            command,
            env={**os.environ, **meeting, "RANK": rank, "LOCAL_RANK": rank, "OMP_NUM_THREADS": "1"},
        )
        for rank in "01"
    ]
    return max(abs(rank.wait()) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
