"""The interface of a command, and the options and output functions that commands share."""

import argparse
import contextlib
import json
import sys
from abc import ABC, abstractmethod
from typing import Any

from sonde.drawing.printable import escape_text, replace_non_finite, safe_json, writing
from sonde.settings import default_store
from sonde.store.backends import is_shared
from sonde.store.places import absolute_store

Options = argparse.Namespace


class Command(ABC):
    """A command. Its docstring is its help; the first line is the summary in `sonde --help`."""

    example: str = ""  # a typical invocation, shown in its help

    @abstractmethod
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""

    @abstractmethod
    def execute(self, options: Options) -> int:
        """Run the command and return its exit code."""


def store_uri(text: str) -> str:
    """Parse a store given on the command line."""
    if not is_shared(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a store. Use a folder, file://… or s3://bucket/prefix"
        )
    return absolute_store(text)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add --store."""
    parser.add_argument(
        "--store",
        metavar="URI",
        type=store_uri,
        default=default_store(),
        help="the store of the jobs: a folder, file://… or s3://bucket/prefix "
        "(default: $SONDE_STORE or ./sonde-jobs)",
    )


def add_job(parser: argparse.ArgumentParser) -> None:
    """Add the JOB argument and --store."""
    parser.add_argument("job", metavar="JOB", help="a job's name, or the path or URI of its folder")
    add_store(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of text"
    )


def print_line(text: str) -> None:
    """Print a line on standard output."""
    with writing():
        sys.stdout.write(f"{escape_text(text)}\n")


def print_json(document: Any) -> None:
    """Print the document of `--json`; numbers that JSON cannot represent become null."""
    text = json.dumps(replace_non_finite(document), indent=2, ensure_ascii=False, allow_nan=False)
    with writing():
        sys.stdout.write(f"{safe_json(text)}\n")


def print_note(text: str) -> None:
    """Print a line on standard error; ignored if standard error is closed."""
    if sys.stderr is not None:  # it is None when the caller closed it
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"sonde: {escape_text(text)}\n")
            sys.stderr.flush()
