"""Finds the command that was asked for, runs it, and turns our errors into one line."""

import argparse
import inspect
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sonde import __version__
from sonde.cli import COMMANDS, Command
from sonde.cli._command import remark
from sonde.drawing.printable import visible, writing
from sonde.errors import OutputError, SondeError, UsageError, did_you_mean

_INTERRUPTED = 130


def run_command_line(words: Sequence[str]) -> int:
    """The exit code of what was typed."""
    if sys.stdout is None:  # the caller closed it: there is nobody to print for
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        code = _execute(words)
        with writing():
            sys.stdout.flush()  # now, while an error can still be told
    except SondeError as error:
        remark(str(error))
        if isinstance(error, OutputError):
            _drop_output()
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output (`| head`) has gone: nothing to complain of
        _drop_output()
        return 0
    return code


def _execute(words: Sequence[str]) -> int:
    # only what was asked for is imported: `sonde run` must not wait for what `sonde watch` needs
    asked = next((word for word in words if not word.startswith("-")), None)
    if asked and asked not in COMMANDS:
        hint = did_you_mean(asked, COMMANDS.names())
        raise UsageError(f"There is no command {asked!r}.{hint} All of them: sonde --help")
    parser = _parser([asked] if asked else COMMANDS.names())
    options, unknown = parser.parse_known_args(words)
    if unknown:
        page = f"sonde {asked}" if asked else "sonde"
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}. Help: {page} --help")
    if not hasattr(options, "command_to_execute"):
        parser.print_help()
        return 2
    command: Command = options.command_to_execute
    return command.execute(options)


def _drop_output() -> None:
    """What is still buffered goes nowhere, so that Python does not complain when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as all our errors do."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"sonde: {visible(message)}. Help: {self.prog} --help\n")


def _parser(names: Sequence[str]) -> _Parser:
    parser = _Parser(
        prog="sonde",
        description="Watches a training job: sonde run python train.py",
        epilog="Help on one command: sonde COMMAND --help",
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
