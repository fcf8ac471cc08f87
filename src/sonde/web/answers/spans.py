"""Lanes of a worker: what it did when. What is wider than a pixel as it is, the rest as cover."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase
from sonde.web.answers._answers import Address, Answers
from sonde.web.answers.heat import window_document
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.intervals import Lane
from sonde.web.lane_index import InSight
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply

_MOST_SPANS = 4000  # of a lane, drawn one by one
_COVER_SCALE = 1 / 200
_ORDER = {phase.value: place for place, phase in enumerate(Phase)}
_KIND_ORDER = ("step", "phase", "user", "window")


class Spans(Answers):
    """`spans`: the lanes of one worker over a window."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/spans", _spans),)


def _spans(question: Question) -> Reply:
    within, pixels = question.window, question.pixels
    found = question.job.lanes(question.worker)
    frame = FrameBuilder()
    looks = {
        lane: found[lane].look(within, pixels, _MOST_SPANS) for lane in sorted(found, key=_place)
    }
    header = {
        "worker": question.worker,
        **window_document(within),
        "px": pixels,
        "lanes": [_lane(frame, lane, one, within) for lane, one in looks.items() if one.count],
    }
    return frame_reply(frame.build(header))


def _place(lane: Lane) -> tuple[int, int, str, str]:
    place = _ORDER.get(lane.name, len(_ORDER))
    return _KIND_ORDER.index(lane.category), place, lane.name, lane.mode


def _lane(frame: FrameBuilder, lane: Lane, own: InSight, within: TimeRange) -> dict[str, Any]:
    wide, cover = own.wide, own.cover
    return {
        "name": lane.name,
        "category": lane.category,
        "mode": lane.mode,
        "phase": lane.name if lane.category in ("phase", "user") else None,
        "count": own.count,
        "seconds": own.total_ns / NANOSECONDS,
        "spans": {
            "start": frame.add((wide.starts_ns - (within.start_ns or 0)) / NANOSECONDS),
            "seconds": frame.add((wide.ends_ns - wide.starts_ns) / NANOSECONDS),
            "step": frame.add(wide.steps.astype("<f8")),
        },
        "coverage": None
        if cover is None
        else frame.add(quantized(cover, _COVER_SCALE, np.dtype("<u1")), _COVER_SCALE),
    }
