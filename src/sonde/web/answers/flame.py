"""Python profiles: a call tree for any steps and mode, and its functions."""

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
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.frames import FrameBuilder
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply

_MIN_SHARE = 1 / 4000  # less than half a pixel
_MAX_FUNCTIONS = 500


class PythonFlame(EndpointGroup):
    """`flame`: the call tree and the time of each call."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/flame", _flame),)


def _flame(query: Query) -> Reply:
    with query.job.results() as results:
        python_time = _requested_time(query, results)
        windows = _all_windows(results)
        flame = python_time.flame(_MIN_SHARE)
        hot = python_time.by("function").rows[:_MAX_FUNCTIONS]
    builder = FrameBuilder()
    start_ns = query.job.extent.start_ns or 0
    header = {
        "profiler": python_time.profiler,
        "counted": "calls" if python_time.profiler == PythonProfiler.CPROFILE else "looks",
        "choices": _choices(windows),
        "windows": [_window(window, start_ns) for window in windows],
        "left_out": flame.left_out,
        "functions": [
            [function.name, function.file, function.line] for function in flame.functions
        ],
        "table": [
            {
                "name": row.name,
                "where": row.where,
                "self_seconds": row.self_seconds,
                "total_seconds": row.total_seconds,
                "self_percent": row.self_percent,
                "total_percent": row.total_percent,
                "count": row.count,
            }
            for row in hot
        ],
        **_columns(flame, builder),
    }
    return frame_reply(builder.build(header))


def _requested_time(query: Query, results: JobResults) -> PythonTime:
    first = query.integer("first_step", -1, -1, 1 << 60)
    last = query.integer("last_step", -1, -1, 1 << 60)
    return results.python(
        query.text("profiler") or None,
        mode=query.text("mode") or None,
        phase=query.text("phase") or None,
        thread=query.text("thread") or None,
        steps=(None if first < 0 else first, None if last < 0 else last + 1),
        worker=query.worker if query.text("worker") else None,
    )


def _all_windows(results: JobResults) -> tuple[ReadProfile, ...]:
    return tuple(
        window for profiler in PythonProfiler for window in results.python(profiler.value).windows
    )


def _choices(windows: Sequence[ReadProfile]) -> dict[str, list[Any]]:
    """The available filters."""
    moments = {moment for window in windows for moment in window.moments}
    return {
        "profilers": sorted({window.profile.profiler.value for window in windows}),
        "modes": sorted({moment.mode for moment in moments}),
        "phases": sorted({moment.phase for moment in moments}),
        "threads": list(
            dict.fromkeys(name for window in windows for name in window.profile.threads)
        ),
        "workers": sorted({window.worker for window in windows}),
        "steps": sorted(
            {step for window in windows for mode, step in window.steps if step != NO_STEP and mode}
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
