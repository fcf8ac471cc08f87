"""`sonde logs`: what the workers of a job printed."""

import argparse
import contextlib
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_note
from sonde.clock import Clock, SystemClock, iso
from sonde.read.logs import LogQuestion, parse_pattern, read_logs
from sonde.read.open_job import OpenJob
from sonde.records.log_line import LogLine
from sonde.records.ranges import TimeRange
from sonde.store.places import find_job
from sonde.terminal.logs import LogPrinter
from sonde.terminal.output import print_lines

_STREAMS = ("stdout", "stderr")
_ALL = 10**9


class Logs(Command):
    """Print the lines that the workers of a job wrote to stdout and stderr.

    Each line has its time, worker and step. Recorded are lines that Python code prints in training
    processes: the first megabyte of each worker, then up to 8 KB every two seconds, the last lines
    first. Secrets are masked.
    """

    example = "sonde logs resnet --grep 'nan|warn' --follow"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--grep", metavar="PATTERN", default="", help="only lines that match (case ignored)"
        )
        parser.add_argument("--worker", metavar="N", type=int, help="only this worker")
        parser.add_argument("--stream", choices=_STREAMS, help="only this stream")
        parser.add_argument(
            "--tail", metavar="N", type=int, default=_ALL, help="only the last N lines"
        )
        parser.add_argument(
            "--follow", action="store_true", help="print new lines until the job ends or Ctrl-C"
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        clock = SystemClock()
        opened = OpenJob(find_job(options.job, options.store), clock)
        question = LogQuestion(parse_pattern(options.grep), options.stream)
        lines = read_logs(opened.workers(options.worker), question, max(0, options.tail)).lines
        if options.json:
            print_json([_document(line) for line in lines])
            return 0
        printer = LogPrinter(has_workers=len(opened.facts.workers) > 1)
        print_lines(printer.lines(lines))
        if options.follow:
            with contextlib.suppress(KeyboardInterrupt):
                _follow(opened, options, question, printer, clock, lines)
        elif not lines:
            print_note(f"No recorded lines in {opened.name}" + (" match" if options.grep else ""))
        return 0


def _follow(
    opened: OpenJob,
    options: Options,
    question: LogQuestion,
    printer: LogPrinter,
    clock: Clock,
    lines: Sequence[LogLine],
) -> None:
    """Print new lines until the job is over."""
    never, printed_ns = threading.Event(), lines[-1].time_ns if lines else 0
    is_over = False
    while not is_over:
        clock.wait(never, max(1.0, opened.backend.poll_seconds))
        opened.refresh()
        is_over = opened.facts.state.is_over
        recent = replace(question, within=TimeRange(printed_ns + 1))
        page = read_logs(opened.workers(options.worker), recent, _ALL)
        if page.lines:
            printed_ns = page.lines[-1].time_ns
            print_lines(printer.lines(page.lines))


def _document(line: LogLine) -> dict[str, Any]:
    document = asdict(line)
    return {"time": iso(document.pop("time_ns")), **document}
