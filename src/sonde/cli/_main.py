"""Find and run the requested command; print errors as one line."""

import argparse
import inspect
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sonde import __version__
from sonde.cli import COMMANDS, Command
from sonde.cli._command import print_note
from sonde.drawing.printable import escape_text, writing
from sonde.errors import OutputError, SondeError, UsageError, did_you_mean

_INTERRUPTED = 130


def run_command_line(words: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    if sys.stdout is None:  # the caller closed it
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        code = _execute(words)
        with writing():
            sys.stdout.flush()  # while an error can still be reported
    except SondeError as error:
        print_note(str(error))
        if isinstance(error, OutputError):
            _drop_output()
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of the output (`| head`) has exited: not an error
        _drop_output()
        return 0
    return code


def _execute(words: Sequence[str]) -> int:
    # import only the requested command: `sonde run` must not wait for imports of `sonde watch`
    name = next((word for word in words if not word.startswith("-")), None)
    if name and name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS.names())
        raise UsageError(f"Unknown command {name!r}.{hint} See: sonde --help")
    parser = _parser([name] if name else COMMANDS.names())
    options, unknown = parser.parse_known_args(words)
    if unknown:
        page = f"sonde {name}" if name else "sonde"
        raise UsageError(f"Unrecognized arguments: {' '.join(unknown)}. See: {page} --help")
    if not hasattr(options, "command_to_execute"):
        parser.print_help()
        return 2
    command: Command = options.command_to_execute
    return command.execute(options)


def _drop_output() -> None:
    """Discard buffered output, so that Python reports no error when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Reports a usage error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"sonde: {escape_text(message)}. See: {self.prog} --help\n")


def _parser(names: Sequence[str]) -> _Parser:
    parser = _Parser(
        prog="sonde",
        description="Monitor, profile and debug training jobs: sonde run python train.py",
        epilog="Help for a command: sonde COMMAND --help",
    )
    parser.add_argument("--version", action="version", version=f"sonde {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name in names:
        _add(commands, name)
    return parser


def _add(commands: "argparse._SubParsersAction[_Parser]", name: str) -> None:
    command = COMMANDS.load(name)()
    text = inspect.getdoc(type(command)) or ""
    parser = commands.add_parser(
        name,
        help=text.partition("\n")[0].rstrip("."),
        description=text,
        epilog=f"example: {command.example}" if command.example else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(parser)
    parser.set_defaults(command_to_execute=command)
