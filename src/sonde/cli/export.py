"""`sonde export`: a job in other programs' formats."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from sonde.atomic_file import write_whole
from sonde.cli._command import Command, Options, add_job, add_json, remark, say_json
from sonde.client.job import Job
from sonde.clock import from_iso, iso
from sonde.drawing.printable import writing
from sonde.errors import UsageError
from sonde.exports import EXPORTS, Export, Selection
from sonde.read.python_profiles import ReadProfile
from sonde.read.timeline import Timeline
from sonde.records.python_profile import PythonProfiler
from sonde.records.ranges import StepRange
from sonde.records.step import Mode
from sonde.store.places import find_job
from sonde.terminal.progress_bar import progress_bar

_TIMELINE = {
    "worker": "only this rank",
    "start_step": "the first training step",
    "end_step": "the first training step that is not wanted any more",
}


class ExportJob(Command):
    """Write what was recorded in another program's format.

    A row per tick and node (csv, parquet), or OpenMetrics text with timestamps (prometheus). With
    --buckets each series becomes its minimum, mean and maximum per bucket of time. Or one timeline
    of workers and machines, as Perfetto opens it (chrome-trace), by time or by steps. Or profiles
    of Python for speedscope.app (speedscope).
    """

    example = "sonde export resnet --format csv --metric 'gpu.*' -o gpus.csv"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        formats = [name.replace("_", "-") for name in EXPORTS.names()]
        parser.add_argument("--format", required=True, choices=formats)
        parser.add_argument(
            *("-o", "--output"),
            metavar="FILE",
            type=Path,
            help="a file (default: standard output); one that ends with .gz is compressed",
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
        _add_timeline(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        if options.json and options.output is None:
            raise UsageError("--json tells about the file: name one with -o FILE.")
        export = EXPORTS.load(options.format)()
        if options.output is None and not export.is_text and sys.stdout.isatty():
            raise UsageError(f"{options.format} is not for terminals: name a file with -o FILE.")
        if not (export.needs_timeline or export.needs_python) and _has_steps(options):
            raise UsageError(f"{options.format} holds no steps: leave out --worker and steps.")
        selection = _selection(options, export)
        with progress_bar("exporting", selection.values) as advance:
            tally = _Tally(advance)
            if options.output is None:
                with writing():
                    export.write(selection, sys.stdout.buffer, tally)
            else:
                write_whole(options.output, lambda sink: export.write(selection, sink, tally))
        if not tally.values:
            remark(_nothing(selection))
        if options.json:
            say_json(_document(options, selection))
        return 0


def _add_timeline(parser: argparse.ArgumentParser) -> None:
    for name, said in _TIMELINE.items():
        words = f"--{name.replace('_', '-')}"
        parser.add_argument(
            words, metavar="N", type=int, help=f"for chrome-trace and speedscope: {said}"
        )


def _has_steps(options: Options) -> bool:
    return any(getattr(options, name) is not None for name in _TIMELINE)


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


def _selection(options: Options, export: Export) -> Selection:
    job = Job(find_job(options.job, options.store))
    if export.needs_python:
        return Selection(job.name, (), (), python=_python(job, options))
    needs_timeline = export.needs_timeline
    patterns = options.metric or ["*"]
    found = [
        job.system(pattern, node=options.node, start=options.start, end=options.end)
        for pattern in patterns
    ]
    for pattern, metrics in zip(patterns, found, strict=True):
        if not metrics.series and (options.metric or not needs_timeline):
            rooms = {one.metric.name.partition(".")[0] for one in job.system().series}
            known = ", ".join(f"{room}.*" for room in sorted(rooms)) or "nothing was recorded"
            raise UsageError(f"Job {job.name!r} has no metric {pattern!r}. Known: {known}")
    series = {one.key: one for metrics in found for one in metrics.series}
    whole = found[0]
    timeline = _timeline(job, options, tuple(patterns)) if needs_timeline else None
    chosen = (whole.readers, tuple(series.values()), whole.within, options.buckets)
    return Selection(job.name, *chosen, timeline)


def _python(job: Job, options: Options) -> tuple[ReadProfile, ...]:
    steps = (options.start_step, options.end_step)
    windows = [
        window
        for profiler in PythonProfiler
        for window in job.python(profiler.value, worker=options.worker).windows
        if StepRange(*steps).overlaps(window.first_step, max(map(_number, window.steps), default=0))
    ]
    if not windows:
        raise UsageError(f"Job {job.name!r} has no profile of Python, or none of those steps.")
    return tuple(windows)


def _number(step: tuple[str, int]) -> int:
    return step[1] if step[0] == Mode.TRAIN.value else 0


def _timeline(job: Job, options: Options, metrics: tuple[str, ...]) -> Timeline:
    timeline = job.timeline(
        worker=options.worker,
        start_step=options.start_step,
        end_step=options.end_step,
        start=options.start,
        end=options.end,
        metrics=metrics,
    )
    return (timeline if options.node is None else timeline.on(options.node)).data


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
