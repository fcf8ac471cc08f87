"""`sonde bundle`: write the dashboard of a job into one file."""

import argparse
from pathlib import Path
from typing import BinaryIO

from sonde import __version__
from sonde.atomic_file import write_atomically
from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.cli._spools import send_spools_of
from sonde.cli.dashboard.server import rule_page
from sonde.clock import SystemClock
from sonde.errors import UsageError
from sonde.formats import format_bytes
from sonde.settings.checks import parse_size
from sonde.store.places import find_job
from sonde.terminal.progress_bar import progress_bar
from sonde.web.bundle.page import bundle_page, page_bytes
from sonde.web.bundle.recorder import Recorder
from sonde.web.bundle.redaction import Redaction, redaction_of
from sonde.web.library import Library

_MAX_SIZE = "5MB"
_MIN_BYTES = 1_000_000  # the page without data, and the summary of a job


class WriteBundle(Command):
    """Write the interactive dashboard of a running or finished job into one HTML file.

    The file opens in any browser without a server and without a network connection. It contains
    the data of this job only. If the data does not fit into --max-size, zoom levels are left out
    first; the command and the page state what was left out.
    """

    example = "sonde bundle resnet -o resnet.html --redact"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            *("-o", "--output"),
            metavar="FILE",
            type=Path,
            help="output file (default: JOB.html in the current folder)",
        )
        parser.add_argument(
            "--max-size",
            metavar="SIZE",
            type=_size,
            default=_size(_MAX_SIZE),
            help=f"the maximum size of the file, such as 20MB (default: {_MAX_SIZE})",
        )
        parser.add_argument(
            "--redact",
            action="store_true",
            help="replace host names, command lines, and the folders of jobs and users",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        send_spools_of(backend)
        store, _, name = backend.uri.rstrip("/").rpartition("/")
        output = options.output or Path(f"{name}.html")
        if output.is_dir():
            raise UsageError(f"{output} is a folder. Specify an HTML file, such as {name}.html.")
        library = Library(store, SystemClock(), rule_page)
        redaction = redaction_of(library.job(name).facts) if options.redact else Redaction()
        recorder = Recorder(library, name, redaction)
        with progress_bar("Writing bundle", len(recorder.requests)) as advance:
            recording = recorder.record(options.max_size - page_bytes(), advance)
        page = bundle_page(recording, __version__)
        write_atomically(output, lambda sink: _put(sink, page))
        if options.json:
            omitted = dict(recording.omitted)
            print_json({"job": name, "html": str(output), "bytes": len(page), "omitted": omitted})
        else:
            print_line(f"{output} ({format_bytes(len(page))})")
            for note in recording.notes:
                print_line(f"Left out to limit the size: {note}")
        return 0


def _put(sink: BinaryIO, page: bytes) -> None:
    sink.write(page)


def _size(text: str) -> int:
    """The maximum size; the page itself must fit."""
    try:
        size = parse_size(text, "--max-size")
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < _MIN_BYTES:
        raise argparse.ArgumentTypeError(
            f"{text} is too small. Use at least {format_bytes(_MIN_BYTES)}"
        )
    return size
