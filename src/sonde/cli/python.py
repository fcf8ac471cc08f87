"""`sonde python`: Python functions that take the most time."""

import argparse
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.client.job import Job
from sonde.clock import NANOSECONDS
from sonde.drawing.printable import escape_text
from sonde.errors import UsageError
from sonde.formats import format_duration, pluralize
from sonde.read.python_profiles import ReadProfile
from sonde.records.python_profile import PythonProfiler
from sonde.records.step import Mode
from sonde.results.python_profile import Comparison, HotTable, PythonTime
from sonde.store.places import find_job

_DEFAULT_TOP = 15
_MAX_COMPARED = 5


class Python(Command):
    """Show the Python functions that take the most time: overall, in slow steps, and by mode.

    Requires a window of the `python` profiler. Record one in a running job with
    `sonde profile JOB --kinds python`.
    """

    example = "sonde python resnet --phase forward --by total"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--by",
            choices=("self", "total", "file", "module"),
            default="self",
            help="sort functions by self or total time, or group by file or module",
        )
        parser.add_argument(
            "--profiler",
            choices=[choice.value for choice in PythonProfiler],
            help="only windows of this profiler (default: that of the last window)",
        )
        parser.add_argument(
            "--mode", choices=[choice.value for choice in Mode], help="only steps of this mode"
        )
        parser.add_argument("--phase", metavar="NAME", help="only this phase, such as forward")
        parser.add_argument(
            "--thread",
            metavar="NAME",
            help="only this thread, or '*' for all (default: the training thread)",
        )
        parser.add_argument(
            "--steps",
            metavar="FIRST:END",
            type=_steps,
            default=(None, None),
            help="only these steps, such as 9 or 9:12 (end exclusive)",
        )
        parser.add_argument("--worker", metavar="RANK", help="only this worker")
        parser.add_argument(
            "--top",
            metavar="N",
            type=_count,
            default=_DEFAULT_TOP,
            help="number of rows (default: 15)",
        )
        add_json(parser)

    def execute(self, options: Options) -> int:
        job = Job(find_job(options.job, options.store))
        time = job.python(
            options.profiler,
            mode=options.mode,
            phase=options.phase,
            thread=options.thread,
            steps=options.steps,
            worker=options.worker,
        )
        if options.json:
            print_json({"job": job.name, **document(time, options.top)})
        elif not time.windows:
            raise UsageError(f"Job {job.name!r} has no Python profile. {_hint(options)}")
        else:
            _print(time, options)
        return 0


def document(time: PythonTime, max_rows: int) -> dict[str, Any]:
    """The profile as plain JSON values."""
    return {
        "profiler": time.profiler,
        "windows": [_window(window) for window in time.windows],
        "functions": time.by("function").top(max_rows).to_arrow().to_pylist(),
        "files": time.by("file").top(max_rows).to_arrow().to_pylist(),
        "modules": time.by("module").top(max_rows).to_arrow().to_pylist(),
        "phases": [
            {"mode": mode, "phase": phase, "seconds": seconds}
            for (mode, phase), seconds in time.phases().items()
        ],
        "outliers": _compared(time.outliers(), max_rows),
        "modes": _compared(time.modes(), max_rows),
        "damages": time.damages,
    }


def _window(window: ReadProfile) -> dict[str, Any]:
    profile = window.profile
    return {
        "worker": window.worker,
        "timer": profile.timer.value,
        "steps": [{"mode": mode, "step": step} for mode, step in window.steps],
        "seconds": (profile.end_ns - profile.start_ns) / NANOSECONDS,
        "threads": list(profile.threads),
        "looks": len(profile.times_ns) if profile.profiler is PythonProfiler.STACKS else None,
        "interval_seconds": profile.interval_ns / NANOSECONDS,
        "late_seconds": profile.late_ns / NANOSECONDS,
        "latest_seconds": profile.latest_ns / NANOSECONDS,
        "own_seconds": profile.own_ns / NANOSECONDS,
        "is_cut": profile.is_cut,
    }


def _compared(comparison: Comparison, max_rows: int) -> dict[str, Any]:
    return {
        "groups": list(comparison.groups),
        "slow_steps": [{"worker": worker, "step": step} for worker, step in comparison.slow],
        "functions": comparison.to_arrow().slice(0, max_rows).to_pylist(),
    }


def _print(time: PythonTime, options: Options) -> None:
    for window in time.windows:
        print_line(_head(window))
    by = options.by if options.by in ("file", "module") else "function"
    order = options.by if options.by in ("self", "total") else "self"
    print_line("")
    _print_table(time.by(by).top(options.top, by=order))
    print_line("")
    phases = time.phases().items()
    print_line(
        "By phase: "
        + ", ".join(f"{mode} {name} {format_duration(seconds)}" for (mode, name), seconds in phases)
    )
    outliers = time.outliers()
    if outliers.slow:
        steps = ", ".join(
            f"{step} (worker {worker})" for worker, step in outliers.slow[:_MAX_COMPARED]
        )
        print_line("")
        print_line(f"Slow steps: {steps}. Self time per step:")
        _print_table(_shortened(outliers))
    modes = time.modes()
    if len(modes):
        print_line("")
        print_line("Self time per step, by mode:")
        _print_table(_shortened(modes))


def _shortened(comparison: Comparison) -> Comparison:
    rows = [row for row in comparison.rows if any(row.self_seconds)]
    return Comparison(comparison.groups, tuple(rows[:_MAX_COMPARED]), comparison.slow)


def _print_table(table: HotTable | Comparison) -> None:
    for line in repr(table).splitlines():
        print_line(line)


def _head(window: ReadProfile) -> str:
    profile = window.profile
    steps = [step for mode, step in window.steps if mode == Mode.TRAIN]
    which = f"steps {min(steps)} to {max(steps)}" if steps else "no complete step"
    seconds = format_duration((profile.end_ns - profile.start_ns) / NANOSECONDS)
    if profile.profiler is PythonProfiler.CPROFILE:
        how = f"cprofile, {profile.timer.value} time"
    else:
        late = format_duration(profile.late_ns / NANOSECONDS)
        samples = pluralize(len(profile.times_ns), "sample")
        how = (
            f"stacks, {samples} of {pluralize(len(profile.threads), 'thread')}, total delay {late}"
        )
    cut = "; truncated" if profile.is_cut else ""
    return escape_text(f"worker {window.worker}, {which}, {seconds}: {how}{cut}")


def _hint(options: Options) -> str:
    return f"Record one while the job runs: sonde profile {options.job} --kinds python"


def _steps(text: str) -> tuple[int | None, int | None]:
    first, mark, end = text.partition(":")
    try:
        start = int(first) if first else None
        if not mark:
            return start, None if start is None else start + 1
        return start, int(end) if end else None
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range of steps. Use 9:12, 9: or 9"
        ) from error


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows. Use 1 or more")
    return int(text)
