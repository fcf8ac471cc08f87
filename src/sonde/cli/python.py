"""`sonde python`: which Python functions take the time of a step."""

import argparse
from typing import Any

from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.client.job import Job
from sonde.clock import NANOSECONDS
from sonde.drawing.printable import visible
from sonde.errors import UsageError
from sonde.formats import format_duration, pluralize
from sonde.read.python_profiles import ReadProfile
from sonde.records.python_profile import PythonProfiler
from sonde.records.step import Mode
from sonde.results.python_profile import Comparison, HotTable, PythonTime
from sonde.store.places import find_job

_SHOWN = 15
_FEW = 5


class Python(Command):
    """Show the Python functions that take the time: in a step, in slow steps, by mode.

    What is shown was recorded in windows of the kind `python`; `sonde profile JOB --kinds python`
    opens one in a job that runs.
    """

    example = "sonde python resnet --phase forward --by total"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            "--by",
            choices=("self", "total", "file", "module"),
            default="self",
            help="functions by their own or their total time, or files, or packages",
        )
        parser.add_argument(
            "--profiler",
            choices=[one.value for one in PythonProfiler],
            help="only windows of this one (default: that of the last window)",
        )
        parser.add_argument(
            "--mode", choices=[one.value for one in Mode], help="only in steps of this mode"
        )
        parser.add_argument("--phase", metavar="NAME", help="only in this phase, like forward")
        parser.add_argument(
            "--thread", metavar="NAME", help="a thread, or '*' for all (default: what trains)"
        )
        parser.add_argument(
            "--steps",
            metavar="FIRST:END",
            type=_steps,
            default=(None, None),
            help="only these steps, like 9:12, without the last one, or 9",
        )
        parser.add_argument("--worker", metavar="RANK", help="only this worker")
        parser.add_argument(
            "--top", metavar="N", type=_count, default=_SHOWN, help="how many (default: 15)"
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
            say_json({"job": job.name, **document(time, options.top)})
        elif not time.windows:
            raise UsageError(f"Job {job.name!r} has no profile of Python: {_hint(options)}")
        else:
            _print(time, options)
        return 0


def document(time: PythonTime, most: int) -> dict[str, Any]:
    """Everything as plain JSON values."""
    return {
        "profiler": time.profiler,
        "windows": [_window(one) for one in time.windows],
        "functions": time.by("function").top(most).to_arrow().to_pylist(),
        "files": time.by("file").top(most).to_arrow().to_pylist(),
        "modules": time.by("module").top(most).to_arrow().to_pylist(),
        "phases": [
            {"mode": mode, "phase": phase, "seconds": seconds}
            for (mode, phase), seconds in time.phases().items()
        ],
        "outliers": _compared(time.outliers(), most),
        "modes": _compared(time.modes(), most),
        "damages": time.damages,
    }


def _window(one: ReadProfile) -> dict[str, Any]:
    profile = one.profile
    return {
        "worker": one.worker,
        "timer": profile.timer.value,
        "steps": [{"mode": mode, "step": step} for mode, step in one.steps],
        "seconds": (profile.end_ns - profile.start_ns) / NANOSECONDS,
        "threads": list(profile.threads),
        "looks": len(profile.times_ns) if profile.profiler is PythonProfiler.STACKS else None,
        "interval_seconds": profile.interval_ns / NANOSECONDS,
        "late_seconds": profile.late_ns / NANOSECONDS,
        "latest_seconds": profile.latest_ns / NANOSECONDS,
        "own_seconds": profile.own_ns / NANOSECONDS,
        "is_cut": profile.is_cut,
    }


def _compared(found: Comparison, most: int) -> dict[str, Any]:
    return {
        "groups": list(found.groups),
        "slow_steps": [{"worker": worker, "step": step} for worker, step in found.slow],
        "functions": found.to_arrow().slice(0, most).to_pylist(),
    }


def _print(time: PythonTime, options: Options) -> None:
    for one in time.windows:
        say(_head(one))
    by = options.by if options.by in ("file", "module") else "function"
    order = options.by if options.by in ("self", "total") else "self"
    say("")
    _say_table(time.by(by).top(options.top, by=order))
    say("")
    phases = time.phases().items()
    say(
        "by phase: "
        + ", ".join(f"{mode} {name} {format_duration(one)}" for (mode, name), one in phases)
    )
    outliers = time.outliers()
    if outliers.slow:
        steps = ", ".join(f"{step} (worker {worker})" for worker, step in outliers.slow[:_FEW])
        say("")
        say(f"slow steps: {steps}; own time per step:")
        _say_table(_few(outliers))
    modes = time.modes()
    if len(modes):
        say("")
        say("own time per step, by mode:")
        _say_table(_few(modes))


def _few(found: Comparison) -> Comparison:
    rows = [row for row in found.rows if any(row.self_seconds)]
    return Comparison(found.groups, tuple(rows[:_FEW]), found.slow)


def _say_table(table: HotTable | Comparison) -> None:
    for line in repr(table).splitlines():
        say(line)


def _head(one: ReadProfile) -> str:
    profile = one.profile
    steps = [step for mode, step in one.steps if mode == Mode.TRAIN]
    which = f"steps {min(steps)} to {max(steps)}" if steps else "no whole step"
    seconds = format_duration((profile.end_ns - profile.start_ns) / NANOSECONDS)
    if profile.profiler is PythonProfiler.CPROFILE:
        how = f"cprofile, {profile.timer.value} time"
    else:
        late = format_duration(profile.late_ns / NANOSECONDS)
        looks = pluralize(len(profile.times_ns), "look")
        how = f"stacks, {looks} at {pluralize(len(profile.threads), 'thread')}, {late} late in all"
    cut = "; there was more than is kept" if profile.is_cut else ""
    return visible(f"worker {one.worker}, {which}, {seconds}: {how}{cut}")


def _hint(options: Options) -> str:
    return f"record one with `sonde profile {options.job} --kinds python` while it runs."


def _steps(text: str) -> tuple[int | None, int | None]:
    first, mark, end = text.partition(":")
    try:
        start = int(first) if first else None
        if not mark:
            return start, None if start is None else start + 1
        return start, int(end) if end else None
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range of steps: say 9:12, 9: or 9"
        ) from error


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows, 1 or more")
    return int(text)
