"""The entry point of `sonde` and `python -m sonde`."""

import os
import sys

from sonde.cli._main import run_command_line
from sonde.guard import Guard


def main() -> None:
    """Run the command line."""
    arguments = sys.argv[1:]
    code = run_command_line(arguments)
    if arguments[:1] == ["run"]:
        _exit_now(code)
    sys.exit(code)


def _exit_now(code: int) -> None:
    """Exit immediately: a thread that hangs in a store or driver must not change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            Guard().attempt("the last output", stream.flush, None)
    os._exit(code)


if __name__ == "__main__":
    main()
