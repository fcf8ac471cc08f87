"""`sonde export`: a job in other programs' formats."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from sonde.cli._command import Command, Options, add_job, add_json, remark, say_json
from sonde.client.job import Job
from sonde.clock import from_iso, iso
from sonde.errors import StoreError, UsageError
from sonde.show.exports import EXPORTS, Export, Selection
from sonde.show.output import writing
from sonde.store.places import find_job


class ExportJob(Command):
    """Write what was recorded in another program's format.

    A row per tick and node (csv, parquet), or OpenMetrics text with timestamps (prometheus). With
    --buckets each series becomes its minimum, mean and maximum per bucket of time.
    """

    example = "sonde export resnet --format csv --metric 'gpu.*' -o gpus.csv"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        formats = [name.replace("_", "-") for name in EXPORTS.names()]
        parser.add_argument("--format", required=True, choices=formats)
        parser.add_argument(
            "-o", "--output", metavar="FILE", type=Path, help="a file (default: standard output)"
        )
        parser.add_argument(
            "--metric",
            metavar="PATTERN",
            action="append",
            help="only metrics that fit, like 'gpu.*'; repeatable",
        )
        parser.add_argument("--node", metavar="NAME", help="only this node")
        moment = "a time like 2026-11-15T08:00:00 (UTC unless it names a zone), or seconds"
        parser.add_argument("--start", type=_moment, help=f"{moment} since the job began")
        parser.add_argument("--end", type=_moment, help="likewise; not included")
        parser.add_argument("--buckets", metavar="N", type=_count, help="at most so many rows")
        add_json(parser)

    def execute(self, options: Options) -> int:
        if options.json and options.output is None:
            raise UsageError("--json tells about the file: name one with -o FILE.")
        export = EXPORTS.load(options.format)()
        if options.output is None and not export.is_text and sys.stdout.isatty():
            raise UsageError(f"{options.format} is not for terminals: name a file with -o FILE.")
        selection = _selection(options)
        with _progress(selection) as advance:
            tally = _Tally(advance)
            if options.output is None:
                with writing():
                    export.write(selection, sys.stdout.buffer, tally)
            else:
                _write_file(export, selection, options.output, tally)
        if not tally.values:
            remark(_nothing(selection))
        if options.json:
            say_json(_document(options, selection))
        return 0


class _Tally:
    """Counts what is written, and passes it on to the bar."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self.values = 0

    def __call__(self, count: int) -> None:
        self.values += count
        self._advance(count)


def _nothing(selection: Selection) -> str:
    extents = [one.extent for one in selection.readers if one.extent is not None]
    if not extents:
        return f"{selection.job} has no samples: the export holds none"
    first = iso(min(one.first_ns for one in extents))
    last = iso(max(one.last_ns for one in extents))
    return f"nothing was recorded in that range; {selection.job} covers {first} to {last}"


def _selection(options: Options) -> Selection:
    job = Job(find_job(options.job, options.store))
    patterns = options.metric or ["*"]
    found = [
        job.system(pattern, node=options.node, start=options.start, end=options.end)
        for pattern in patterns
    ]
    for pattern, metrics in zip(patterns, found, strict=True):
        if not metrics.series:
            rooms = {one.metric.name.partition(".")[0] for one in job.system().series}
            known = ", ".join(f"{room}.*" for room in sorted(rooms)) or "nothing was recorded"
            raise UsageError(f"Job {job.name!r} has no metric {pattern!r}. Known: {known}")
    series = {one.key: one for metrics in found for one in metrics.series}
    whole = found[0]
    return Selection(job.name, whole.readers, tuple(series.values()), whole.within, options.buckets)


def _write_file(
    export: Export, selection: Selection, path: Path, advance: Callable[[int], None]
) -> None:
    """Whole or not at all: a broken export never stands where a good one was."""
    path = path.resolve()  # a link stays one, and what it leads to is written
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device is written as it is
            with path.open("wb") as sink:
                export.write(selection, sink, advance)
            return
        with temporary.open("wb") as sink:
            export.write(selection, sink, advance)
        temporary.replace(path)
    except OSError as error:
        raise StoreError(f"Cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _progress(selection: Selection) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _count: None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("exporting", total=selection.values)
        yield lambda count: progress.advance(task, count)


def _document(options: Options, selection: Selection) -> dict[str, object]:
    return {
        "job": selection.job,
        "format": options.format,
        "file": str(options.output.absolute()),
        "bytes": options.output.stat().st_size,
        "series": len(selection.series),
        "nodes": [reader.node for reader in selection.readers],
    }


def _moment(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        from_iso(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a time like 2026-11-15T08:00:00 nor seconds"
        ) from error
    return text


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of buckets, 1 or more")
    return int(text)
