"""`sonde export`: export a job to other formats."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sonde.atomic_file import write_atomically
from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_note
from sonde.client.job import Job
from sonde.clock import from_iso, iso
from sonde.drawing.printable import writing
from sonde.errors import UsageError
from sonde.exports import EXPORTS, Content, Export, Selection, TrainingData
from sonde.read.python_profiles import ReadProfile
from sonde.read.scalars import Matching, ScalarQuestion
from sonde.read.timeline import Timeline
from sonde.records.python_profile import PythonProfiler
from sonde.records.ranges import StepRange
from sonde.records.step import Mode
from sonde.store.places import find_job
from sonde.terminal.progress_bar import progress_bar

_TIMELINE = {
    "worker": "only this worker",
    "start_step": "first training step",
    "end_step": "end of the range of training steps (exclusive)",
}


class ExportJob(Command):
    """Export recorded data to another format.

    csv and parquet contain a row per sample and node, or with --data, the job's losses, scalars or
    statistics of tensors; prometheus is OpenMetrics text with timestamps. With --buckets, each
    series is reduced to its minimum, mean and maximum per time bucket. chrome-trace is a timeline
    of workers and machines for Perfetto. speedscope contains Python profiles for speedscope.app.
    tensorboard contains scalars and histograms for TensorBoard.
    """

    example = "sonde export resnet --format csv --metric 'gpu.*' -o gpus.csv"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        formats = [name.replace("_", "-") for name in EXPORTS.names()]
        parser.add_argument("--format", required=True, choices=formats, help="output format")
        parser.add_argument(
            *("-o", "--output"),
            metavar="FILE",
            type=Path,
            help="output file (default: standard output); .gz files are compressed",
        )
        parser.add_argument(
            "--metric",
            metavar="PATTERN",
            action="append",
            help="only matching metrics, scalars or tensors, such as 'gpu.*'; repeatable",
        )
        parser.add_argument(
            "--data",
            choices=[content.value for content in Content],
            default=Content.METRICS.value,
            help="for csv and parquet: the exported data (default: metrics of machines)",
        )
        parser.add_argument("--node", metavar="NAME", help="only this node")
        instant = "a time such as 2026-11-15T08:00:00 (UTC by default), or seconds"
        parser.add_argument("--start", type=_moment, help=f"{instant} since the job started")
        parser.add_argument(
            "--end", type=_moment, help="end of the range, in the same format (exclusive)"
        )
        parser.add_argument(
            "--buckets", metavar="N", type=_count, help="maximum number of time buckets"
        )
        _add_timeline(parser)
        add_json(parser)

    def execute(self, options: Options) -> int:
        if options.json and options.output is None:
            raise UsageError("--json describes the output file. Specify one with -o FILE.")
        export = EXPORTS.load(options.format)()
        _check_data(options, export)
        if options.output is None and not export.is_text and sys.stdout.isatty():
            raise UsageError(f"{options.format} is a binary format. Specify a file with -o FILE.")
        if not (export.needs_timeline or export.needs_python) and _has_steps(options):
            raise UsageError(
                f"{options.format} contains no steps. Remove --worker, --start-step and --end-step."
            )
        selection = _selection(options, export)
        with progress_bar("exporting", selection.values) as advance:
            tally = _Tally(advance)
            if options.output is None:
                with writing():
                    export.write(selection, sys.stdout.buffer, tally)
            else:
                write_atomically(options.output, lambda sink: export.write(selection, sink, tally))
        if not tally.values:
            print_note(_explain_empty(selection))
        if options.json:
            print_json(_document(options, selection))
        return 0


def _add_timeline(parser: argparse.ArgumentParser) -> None:
    for name, text in _TIMELINE.items():
        words = f"--{name.replace('_', '-')}"
        parser.add_argument(
            words, metavar="N", type=int, help=f"for chrome-trace and speedscope: {text}"
        )


def _check_data(options: Options, export: Export) -> None:
    """Refuse options that the format does not support."""
    if options.data != Content.METRICS and not export.has_tables:
        raise UsageError(f"--data {options.data} requires --format csv or parquet.")
    is_marked = options.output is None or export.file_mark in options.output.name
    if not is_marked:
        raise UsageError(
            f"{options.output} is ignored by {options.format}, which only reads files whose name "
            f"contains {export.file_mark}. Use -o {options.output}.{export.file_mark}"
        )


def _has_steps(options: Options) -> bool:
    return any(getattr(options, name) is not None for name in _TIMELINE)


class _Tally:
    """Counts the written values and advances the progress bar."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance = advance
        self.values = 0

    def __call__(self, count: int) -> None:
        self.values += count
        self._advance(count)


def _explain_empty(selection: Selection) -> str:
    extents = [reader.extent for reader in selection.readers if reader.extent is not None]
    if not extents:
        return f"No samples in {selection.job}: the export is empty"
    first = iso(min(reader.first_ns for reader in extents))
    last = iso(max(reader.last_ns for reader in extents))
    return f"No data in this range. {selection.job} covers {first} to {last}"


def _selection(options: Options, export: Export) -> Selection:
    job = Job(find_job(options.job, options.store))
    if export.needs_python:
        return Selection(job.name, (), (), python=_python(job, options))
    content = None if export.needs_training else Content(options.data)
    if content is not Content.METRICS:
        return Selection(job.name, (), (), training=_training(job, options.metric, content))
    needs_timeline = export.needs_timeline
    patterns = options.metric or ["*"]
    matches = [
        job.system(pattern, node=options.node, start=options.start, end=options.end)
        for pattern in patterns
    ]
    for pattern, metrics in zip(patterns, matches, strict=True):
        if not metrics.series and (options.metric or not needs_timeline):
            prefixes = {
                series_of_job.metric.name.partition(".")[0] for series_of_job in job.system().series
            }
            available = ", ".join(f"{prefix}.*" for prefix in sorted(prefixes)) or "none"
            raise UsageError(f"Job {job.name!r} has no metric {pattern!r}. Available: {available}")
    series = {
        series_of_job.key: series_of_job for metrics in matches for series_of_job in metrics.series
    }
    first = matches[0]
    timeline = _timeline(job, options, tuple(patterns)) if needs_timeline else None
    chosen = (first.readers, tuple(series.values()), first.within, options.buckets)
    return Selection(job.name, *chosen, timeline)


def _training(job: Job, patterns: list[str] | None, content: Content | None) -> TrainingData:
    """The scalars and tensors whose names match a pattern; all of them by default."""
    names = Matching(*(patterns or ["*"]))
    scalars, tensors = job.scalars(), job.tensors()
    if content is Content.LOSSES:
        scalars = job.losses
    else:
        scalars = replace(scalars, question=ScalarQuestion(names))
    holders = {name: tensors.holders[name] for name in tensors if name in names}
    training = TrainingData(scalars, replace(tensors, holders=holders), content)
    if not training.size:
        raise UsageError(f"Job {job.name!r} has no matching {content or 'scalars or tensors'}.")
    return training


def _python(job: Job, options: Options) -> tuple[ReadProfile, ...]:
    steps = (options.start_step, options.end_step)
    windows = [
        window
        for profiler in PythonProfiler
        for window in job.python(profiler.value, worker=options.worker).windows
        if StepRange(*steps).overlaps(window.first_step, max(map(_number, window.steps), default=0))
    ]
    if not windows:
        raise UsageError(f"Job {job.name!r} has no Python profile of these steps.")
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
            f"{text!r} is not a time such as 2026-11-15T08:00:00 or a number of seconds"
        ) from error
    return text


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of buckets. Use 1 or more")
    return int(text)
