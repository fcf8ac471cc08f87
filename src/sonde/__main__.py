"""The command line: `sonde` and `python -m sonde`."""

import sys

from sonde.cli._main import run_command_line


def main() -> None:
    """Runs the command line of this process."""
    sys.exit(run_command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
