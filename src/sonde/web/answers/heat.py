"""Utilization of every core and GPU of a node over time: one row each, one column per pixel."""

from collections.abc import Sequence

import numpy as np

from sonde.analyze.natural_sort import natural_sort_key
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.columns import AGGREGATES, HALF_PERCENT, columns_of
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply
from sonde.web.windows import window_document

_KINDS = (("cpu", "cpu.utilization_percent"), ("gpu", "gpu.utilization_percent"))


class Heat(EndpointGroup):
    """`heat`: utilization of all devices of a node."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/heat", _heat),)


def _heat(query: Query) -> Reply:
    within, by = query.window, query.choice("by", AGGREGATES)
    interval = query.job.sampling_interval_seconds
    with query.job.node(query.node) as reader:
        rows = _rows(reader)
        series = [each for _, each in rows]
        columns = columns_of(reader, series, within, query.pixels, interval)
    frame = FrameBuilder()
    codes = quantized(columns.by(by), HALF_PERCENT, np.dtype("<u1"))
    header = {
        "node": query.node,
        **window_document(within),
        "by": by,
        "unit": "percent",
        "columns": columns.document(),
        "rows": [{"device": each.device, "kind": kind} for kind, each in rows],
        "values": frame.add(codes, HALF_PERCENT),
    }
    return frame_reply(frame.build(header))


def _rows(reader: SystemReader) -> list[tuple[str, Series]]:
    rows = []
    for kind, metric in _KINDS:
        device_series = [series for series in reader.series(metric) if series.device]
        device_series.sort(key=lambda series: natural_sort_key(series.device))
        rows += [(kind, series) for series in device_series]
    return rows
