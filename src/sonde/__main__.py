"""The entry point of `sonde` and `python -m sonde`."""

import os
import sys
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Run the command line."""
    prefer_standard_library(sys.path)
    command_line = import_module("sonde.cli._main")
    arguments = sys.argv[1:]
    code = command_line.run_command_line(arguments)
    if arguments[:1] == ["run"]:
        _exit_now(code)
    sys.exit(code)


def prefer_standard_library(search_path: list[str]) -> None:
    """Search PYTHONPATH after the standard library.

    It is meant for the job, and may contain another `json.py` or `select.py`, with which no command
    could be started.
    """
    library = str(Path(os.__file__).parent)
    standard = [
        entry
        for entry in search_path
        if entry == library or (entry.startswith(library) and entry.endswith("lib-dynload"))
    ]
    if standard:
        others = [entry for entry in search_path if entry not in standard]
        search_path[:] = [*standard, *others]


def _exit_now(code: int) -> None:
    """Exit immediately: a thread that hangs in a store or driver must not change the exit code."""
    guard = import_module("sonde.guard").Guard()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            guard.attempt("the last output", stream.flush, None)
    os._exit(code)


if __name__ == "__main__":
    main()
