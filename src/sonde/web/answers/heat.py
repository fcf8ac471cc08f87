"""Every core and every GPU of a node over time: a row each, a column per pixel."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.analyze.counting import counting_order
from sonde.clock import NANOSECONDS
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.web.answers._answers import Address, Answers
from sonde.web.columns import columns_of
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.live_updates import sampling
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply

BY = ("mean", "max", "min")
_KINDS = (("cpu", "cpu.utilization_percent"), ("gpu", "gpu.utilization_percent"))
HALF_PERCENT = 0.5


class Heat(Answers):
    """`heat`: utilization of all devices of one node."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/heat", _heat),)


def _heat(question: Question) -> Reply:
    within, by = question.window, question.choice("by", BY)
    interval = sampling(question.job.facts)["interval_seconds"] or 0.5
    with question.job.node(question.node) as reader:
        rows = _rows(reader)
        series = [one for _, one in rows]
        columns = columns_of(reader, series, within, question.pixels, interval)
    frame = FrameBuilder()
    codes = quantized(columns.by(by), HALF_PERCENT, np.dtype("<u1"))
    header = {
        "node": question.node,
        **window_document(within),
        "by": by,
        "unit": "percent",
        "columns": columns.document(),
        "rows": [{"device": one.device, "kind": kind} for kind, one in rows],
        "values": frame.add(codes, HALF_PERCENT),
    }
    return frame_reply(frame.build(header))


def window_document(within: TimeRange) -> dict[str, Any]:
    """A window as headers tell it."""
    return {
        "t0": (within.start_ns or 0) / NANOSECONDS,
        "t1": (within.end_ns or 0) / NANOSECONDS,
    }


def _rows(reader: SystemReader) -> list[tuple[str, Series]]:
    found = []
    for kind, metric in _KINDS:
        mine = [one for one in reader.series(metric) if one.device]
        mine.sort(key=lambda one: counting_order(one.device))
        found += [(kind, one) for one in mine]
    return found
