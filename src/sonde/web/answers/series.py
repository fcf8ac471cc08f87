"""Metrics of a node over time: samples for short windows, otherwise roll-ups."""

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.curves import Curves, read_curves
from sonde.web.frames import FrameBuilder
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply

_MAX_KEYS = 512
_MEAN = "*mean"


class SeriesEndpoints(EndpointGroup):
    """`series`: some metrics of one node over a window."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/series", _series),)


@dataclass(frozen=True)
class _RequestedKey:
    """A requested key and the series it selects."""

    key: str
    series: tuple[Series, ...]


def _series(query: Query) -> Reply:
    keys, within = query.texts("keys", _MAX_KEYS), query.window
    if not keys:
        raise UsageError(
            "keys is missing. Example: keys=cpu.utilization_percent,gpu.power_watts:gpu0"
        )
    interval = query.job.sampling_interval_seconds
    with query.job.node(query.node) as reader:
        requested = [_RequestedKey(key, _selected(reader, key)) for key in keys]
        selected = list(dict.fromkeys(each for key in requested for each in key.series))
        if len(selected) > 4 * _MAX_KEYS:
            raise UsageError(
                f"keys selects {len(selected)} series. The limit is {4 * _MAX_KEYS} per request."
            )
        curves = read_curves(reader, selected, within, query.pixels, interval)
    return frame_reply(_frame(query, within, requested, selected, curves))


def _frame(
    query: Query,
    within: TimeRange,
    requested: Sequence[_RequestedKey],
    selected: Sequence[Series],
    curves: Curves,
) -> bytes:
    frame = FrameBuilder()
    row_of = {series: row for row, series in enumerate(selected)}
    header = {
        "node": query.node,
        "t0": (within.start_ns or 0) / NANOSECONDS,
        "t1": (within.end_ns or 0) / NANOSECONDS,
        "width": curves.width_ns / NANOSECONDS,
        "x": frame.add(curves.times_ns / NANOSECONDS),
    }
    described = []
    for key in requested:
        rows = [row_of[series] for series in key.series]
        unit = key.series[0].metric.unit if key.series else None
        bands = curves.over(rows)
        add = frame.add_percent if unit in ("percent", "%") else frame.add
        columns = {name: add(values) for name, values in bands.items()}
        described.append({"key": key.key, "unit": unit, "parts": columns})
    return frame.build({**header, "series": described})


def _selected(reader: SystemReader, key: str) -> tuple[Series, ...]:
    """`metric` selects the node, `metric:gpu0` a device, `metric:*mean` all devices."""
    metric, colon, device = key.partition(":")
    named = [series for series in reader.series() if series.metric.name == metric]
    if device == _MEAN:
        return tuple(series for series in named if series.device)
    return tuple(series for series in named if series.device == (device if colon else ""))
