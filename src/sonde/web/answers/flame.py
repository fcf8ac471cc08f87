"""Where Python spent its time: one tree of calls for any steps and mode, and its functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.analyze.flame import Flame
from sonde.clock import NANOSECONDS
from sonde.read.python_profiles import ReadProfile
from sonde.records.python_profile import PythonProfiler
from sonde.records.step import NO_STEP
from sonde.results.job import JobResults
from sonde.results.python_profile import PythonTime
from sonde.web.answers._answers import Address, Answers
from sonde.web.frames import FrameBuilder
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply

_LEAST_SHARE = 1 / 4000  # less than half a pixel
_MOST_FUNCTIONS = 500


class PythonFlame(Answers):
    """`flame`: who called whom, and what that took."""

    def addresses(self) -> Sequence[Address]:
        """One address."""
        return (Address("/jobs/{job}/flame", _flame),)


def _flame(question: Question) -> Reply:
    with question.job.results() as results:
        found = _asked(question, results)
        everything = _everything(results)
        flame = found.flame(_LEAST_SHARE)
        hot = found.by("function").rows[:_MOST_FUNCTIONS]
    builder = FrameBuilder()
    start_ns = question.job.extent.start_ns or 0
    header = {
        "profiler": found.profiler,
        "counted": "calls" if found.profiler == PythonProfiler.CPROFILE else "looks",
        "choices": _choices(everything),
        "windows": [_window(one, start_ns) for one in everything],
        "left_out": flame.left_out,
        "functions": [[one.name, one.file, one.line] for one in flame.functions],
        "table": [
            {
                "name": one.name,
                "where": one.where,
                "self_seconds": one.self_seconds,
                "total_seconds": one.total_seconds,
                "self_percent": one.self_percent,
                "total_percent": one.total_percent,
                "count": one.count,
            }
            for one in hot
        ],
        **_columns(flame, builder),
    }
    return frame_reply(builder.build(header))


def _asked(question: Question, results: JobResults) -> PythonTime:
    first = question.whole("first_step", -1, -1, 1 << 60)
    last = question.whole("last_step", -1, -1, 1 << 60)
    return results.python(
        question.text("profiler") or None,
        mode=question.text("mode") or None,
        phase=question.text("phase") or None,
        thread=question.text("thread") or None,
        steps=(None if first < 0 else first, None if last < 0 else last + 1),
        worker=question.worker if question.text("worker") else None,
    )


def _everything(results: JobResults) -> tuple[ReadProfile, ...]:
    return tuple(
        window for profiler in PythonProfiler for window in results.python(profiler.value).windows
    )


def _choices(windows: Sequence[ReadProfile]) -> dict[str, list[Any]]:
    """What one can ask for."""
    moments = {one for window in windows for one in window.moments}
    return {
        "profilers": sorted({one.profile.profiler.value for one in windows}),
        "modes": sorted({one.mode for one in moments}),
        "phases": sorted({one.phase for one in moments}),
        "threads": list(dict.fromkeys(name for one in windows for name in one.profile.threads)),
        "workers": sorted({one.worker for one in windows}),
        "steps": sorted(
            {step for one in windows for mode, step in one.steps if step != NO_STEP and mode}
        ),
    }


def _window(window: ReadProfile, start_ns: int) -> dict[str, Any]:
    profile = window.profile
    return {
        "worker": window.worker,
        "profiler": profile.profiler.value,
        "timer": profile.timer.value,
        "start": (profile.start_ns - start_ns) / NANOSECONDS,
        "end": (profile.end_ns - start_ns) / NANOSECONDS,
        "steps": [[mode, step] for mode, step in window.steps],
        "is_cut": profile.is_cut,
    }


def _columns(flame: Flame, builder: FrameBuilder) -> dict[str, Any]:
    no_parent = np.iinfo(np.uint32).max
    parents = np.where(flame.parents < 0, no_parent, flame.parents)
    return {
        "frames": builder.add(flame.frames.astype("<u4")),
        "parents": builder.add(parents.astype("<u4")),
        "self": builder.add((flame.own_ns / NANOSECONDS).astype("<f8")),
        "total": builder.add((flame.total_ns / NANOSECONDS).astype("<f8")),
        "counts": builder.add(flame.counts.astype("<u4")),
    }
