"""Curves of a machine: samples where there are few, else buckets of the roll-up pyramid."""

from collections.abc import Sequence
from dataclasses import dataclass

from sonde.clock import NANOSECONDS
from sonde.errors import UsageError
from sonde.read.system import SystemReader
from sonde.records.metric import Series
from sonde.records.ranges import TimeRange
from sonde.web.answers._answers import Address, Answers
from sonde.web.curves import Curves, read_curves
from sonde.web.frames import FrameBuilder
from sonde.web.live_updates import sampling
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply

_MOST_KEYS = 512
_MEAN = "*mean"


class SeriesAnswers(Answers):
    """`series`: some series of one node over a window."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/series", _series),)


@dataclass(frozen=True)
class _Wanted:
    """One key that was asked for, and the series that it means."""

    key: str
    series: tuple[Series, ...]


def _series(question: Question) -> Reply:
    keys, within = question.texts("keys", _MOST_KEYS), question.window
    if not keys:
        raise UsageError("keys names the series, like cpu.utilization_percent,gpu.power_watts:gpu0")
    interval = sampling(question.job.facts)["interval_seconds"] or 0.5
    with question.job.node(question.node) as reader:
        wanted = [_Wanted(key, _meant(reader, key)) for key in keys]
        every = list(dict.fromkeys(one for each in wanted for one in each.series))
        if len(every) > 4 * _MOST_KEYS:
            raise UsageError(f"keys means {len(every)} series. Ask for fewer at a time.")
        curves = read_curves(reader, every, within, question.pixels, interval)
    return frame_reply(_frame(question, within, wanted, every, curves))


def _frame(
    question: Question,
    within: TimeRange,
    wanted: Sequence[_Wanted],
    every: Sequence[Series],
    curves: Curves,
) -> bytes:
    frame = FrameBuilder()
    places = {one: row for row, one in enumerate(every)}
    header = {
        "node": question.node,
        "t0": (within.start_ns or 0) / NANOSECONDS,
        "t1": (within.end_ns or 0) / NANOSECONDS,
        "width": curves.width_ns / NANOSECONDS,
        "x": frame.add(curves.times_ns / NANOSECONDS),
    }
    described = []
    for one in wanted:
        rows = [places[series] for series in one.series]
        unit = one.series[0].metric.unit if one.series else None
        parts = curves.over(rows)
        add = frame.add_percent if unit in ("percent", "%") else frame.add
        places_of = {name: add(values) for name, values in parts.items()}
        described.append({"key": one.key, "unit": unit, "parts": places_of})
    return frame.build({**header, "series": described})


def _meant(reader: SystemReader, key: str) -> tuple[Series, ...]:
    """`metric` is the whole node, `metric:gpu0` a device, `metric:*mean` all devices together."""
    metric, colon, device = key.partition(":")
    named = [one for one in reader.series() if one.metric.name == metric]
    if device == _MEAN:
        return tuple(one for one in named if one.device)
    return tuple(one for one in named if one.device == (device if colon else ""))
