"""What a command is: a docstring that is its help, its options, and what it does."""

import argparse
import contextlib
import json
import sys
from abc import ABC, abstractmethod
from typing import Any

from sonde.drawing.printable import safe_json, visible, writable, writing
from sonde.settings import default_store
from sonde.store.places import absolute_store

Options = argparse.Namespace


class Command(ABC):
    """One command. The first line of its docstring is the summary in `sonde --help`."""

    example: str = ""  # what a person would type, shown in its help

    @abstractmethod
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options."""

    @abstractmethod
    def execute(self, options: Options) -> int:
        """Does it; returns the exit code."""


def store_uri(text: str) -> str:
    """A store as a person may name it."""
    scheme, mark, _ = text.partition("://")
    if mark and scheme not in ("file", "s3"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no store. Use a folder, file://… or s3://bucket/prefix"
        )
    return absolute_store(text)


def add_store(parser: argparse.ArgumentParser) -> None:
    """The option that nearly every command has."""
    parser.add_argument(
        "--store",
        metavar="URI",
        type=store_uri,
        default=default_store(),
        help="where the jobs are: a folder, file://… or s3://bucket/prefix "
        "(default: $SONDE_STORE, else ./sonde-jobs)",
    )


def add_job(parser: argparse.ArgumentParser) -> None:
    """A job and the store it is in."""
    parser.add_argument("job", metavar="JOB", help="a job's name, or the path or URI of its folder")
    add_store(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """The switch for scripts."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")


def say(text: str) -> None:
    """A line for the person, on standard output."""
    with writing():
        sys.stdout.write(f"{visible(text)}\n")


def say_json(document: Any) -> None:
    """The one JSON document that `--json` promises; numbers JSON cannot write become null."""
    text = json.dumps(writable(document), indent=2, ensure_ascii=False, allow_nan=False)
    with writing():
        sys.stdout.write(f"{safe_json(text)}\n")


def remark(text: str) -> None:
    """A line beside the output, on standard error; if nobody listens there, so be it."""
    if sys.stderr is not None:  # it is None when the caller closed it
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"sonde: {visible(text)}\n")
            sys.stderr.flush()
