"""Lanes of a worker: what it did when. What is wider than a pixel as it is, the rest as cover."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.records.ranges import TimeRange
from sonde.records.step import Phase
from sonde.show.web.answers._answers import Address, Answers
from sonde.show.web.answers.heat import window_document
from sonde.show.web.frames import FrameBuilder, quantized
from sonde.show.web.question import Question
from sonde.show.web.replies import Reply, frame_reply
from sonde.show.web.stretches import Lane, Stretches

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
    found = question.job.stretches(question.worker).within(within)
    frame = FrameBuilder()
    order = sorted(range(len(found.lanes)), key=lambda number: _place(found.lanes[number]))
    lanes = [
        _lane(frame, found.take(np.flatnonzero(found.numbers == number)), number, within, pixels)
        for number in order
    ]
    header = {
        "worker": question.worker,
        **window_document(within),
        "px": pixels,
        "lanes": [one for one in lanes if one["count"]],
    }
    return frame_reply(frame.build(header))


def _place(lane: Lane) -> tuple[int, int, str, str]:
    place = _ORDER.get(lane.name, len(_ORDER))
    return _KIND_ORDER.index(lane.category), place, lane.name, lane.mode


def _lane(
    frame: FrameBuilder, own: Stretches, number: int, within: TimeRange, pixels: int
) -> dict[str, Any]:
    start_ns, end_ns = within.start_ns or 0, within.end_ns or 0
    pixel_ns = (end_ns - start_ns) / pixels
    first = np.clip(own.starts_ns, start_ns, end_ns)
    last = np.clip(own.ends_ns, start_ns, end_ns)
    is_wide = own.ends_ns - own.starts_ns > pixel_ns
    if int(is_wide.sum()) > _MOST_SPANS:
        is_wide[:] = False
    lane = own.lanes[number]
    wide = own.take(np.flatnonzero(is_wide))
    narrow = ~is_wide
    cover = covered(first[narrow] - start_ns, last[narrow] - start_ns, pixel_ns, pixels)
    return {
        "name": lane.name,
        "category": lane.category,
        "mode": lane.mode,
        "phase": lane.name if lane.category in ("phase", "user") else None,
        "count": len(own.starts_ns),
        "seconds": float((last - first).sum()) / NANOSECONDS,
        "spans": {
            "start": frame.add((wide.starts_ns - start_ns) / NANOSECONDS),
            "seconds": frame.add((wide.ends_ns - wide.starts_ns) / NANOSECONDS),
            "step": frame.add(wide.steps.astype("<f8")),
        },
        "coverage": frame.add(quantized(cover, _COVER_SCALE, np.dtype("<u1")), _COVER_SCALE)
        if narrow.any()
        else None,
    }


def covered(
    first: npt.NDArray[Any], last: npt.NDArray[Any], pixel_ns: float, pixels: int
) -> npt.NDArray[np.float64]:
    """The share of each pixel that stretches take, which do not overlap; at most all of it."""
    edges = np.concatenate([first, last]) / pixel_ns
    signs = np.concatenate([np.ones(len(first)), -np.ones(len(last))])
    place = np.clip(np.floor(edges).astype(np.int64), 0, pixels - 1)
    # of a stretch that begins in a pixel the rest of that pixel, and all that follow, are taken
    here = np.zeros(pixels + 1)
    np.add.at(here, place, signs * (place + 1 - edges))
    after = np.zeros(pixels + 1)
    np.add.at(after, place + 1, signs)
    return np.clip((here + np.cumsum(after))[:pixels], 0.0, 1.0)
