"""The lanes of a worker: wide spans individually, narrow ones as coverage per pixel."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.intervals import Lane
from sonde.web.lane_index import VisibleLane
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply
from sonde.web.windows import window_document

_MAX_SPANS = 4000  # of a lane, drawn individually
_COVER_SCALE = 1 / 200
_ORDER = {phase.value: index for index, phase in enumerate(Phase)}
_KIND_ORDER = ("step", "phase", "user", "window")


class Spans(EndpointGroup):
    """`spans`: the lanes of one worker over a window."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/spans", _spans),)


def _spans(query: Query) -> Reply:
    within, pixels = query.window, query.pixels
    lanes = query.job.lanes(query.worker)
    frame = FrameBuilder()
    visible = {
        lane: lanes[lane].view(within, pixels, _MAX_SPANS) for lane in sorted(lanes, key=_sort_key)
    }
    header = {
        "worker": query.worker,
        **window_document(within),
        "px": pixels,
        "lanes": [_lane(frame, lane, view, within) for lane, view in visible.items() if view.count],
    }
    return frame_reply(frame.build(header))


def _sort_key(lane: Lane) -> tuple[int, int, str, str]:
    index = _ORDER.get(lane.name, len(_ORDER))
    return _KIND_ORDER.index(lane.category), index, lane.name, lane.mode


def _lane(frame: FrameBuilder, lane: Lane, view: VisibleLane, within: TimeRange) -> dict[str, Any]:
    wide, cover = view.wide, view.cover
    return {
        "name": lane.name,
        "category": lane.category,
        "mode": lane.mode,
        "phase": lane.name if lane.category in ("phase", "user") else None,
        "count": view.count,
        "seconds": view.total_ns / NANOSECONDS,
        "spans": {
            "start": frame.add((wide.starts_ns - (within.start_ns or 0)) / NANOSECONDS),
            "seconds": frame.add((wide.ends_ns - wide.starts_ns) / NANOSECONDS),
            "step": frame.add(wide.steps.astype("<f8")),
        },
        "coverage": None
        if cover is None
        else frame.add(quantized(cover, _COVER_SCALE, np.dtype("<u1")), _COVER_SCALE),
    }
