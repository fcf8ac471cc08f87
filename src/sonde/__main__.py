"""The command line: `sonde` and `python -m sonde`."""

import os
import sys

from sonde.cli._main import run_command_line
from sonde.guard import Guard


def main() -> None:
    """Runs the command line of this process."""
    words = sys.argv[1:]
    code = run_command_line(words)
    if words[:1] == ["run"]:
        _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """Ends at once: a thread that hangs in a store or a driver may not change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            Guard().attempt("the last output", stream.flush, None)
    os._exit(code)


if __name__ == "__main__":
    main()
