"""Scalars over steps: losses, metrics, learning rates, gradient norms, throughput."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.read.scalars import Matching, ScalarQuestion, read_scalars, reduce_scalars
from sonde.read.workers import WorkerReader
from sonde.records.arrays import FloatArray
from sonde.store.tables import texts_of, to_numpy
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.frames import FrameBuilder
from sonde.web.intervals import STEP, Intervals
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply

THROUGHPUT = "throughput"
_MAX_NAMES = 128
_MAX_WORKERS = 16  # all workers of a distributed job run the same steps


class Scalars(EndpointGroup):
    """`scalars`: curves over steps, each with its own steps; the mean over the workers."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/scalars", _scalars),)


@dataclass(frozen=True)
class _Curve:
    """One scalar over steps: mean, minimum and maximum over the workers."""

    name: str
    mode: str
    source: str
    steps: FloatArray
    bands: tuple[FloatArray, FloatArray, FloatArray]  # minimum, mean, maximum


def _scalars(query: Query) -> Reply:
    names, pixels = query.texts("names", _MAX_NAMES), query.pixels
    ranks = [int(rank) for rank in query.job.facts.workers[:_MAX_WORKERS]]
    if query.text("worker"):
        ranks = [query.worker]
    frame = FrameBuilder()
    with query.job.workers(ranks) as readers:
        curves = list(_curves(readers, names))
    if ranks and (not names or THROUGHPUT in names):
        curves.append(_throughput(query.job.intervals(ranks[0])))
    curves = [curve for curve in curves if len(curve.steps)]
    header = {"scalars": [_described(frame, curve, pixels) for curve in curves]}
    return frame_reply(frame.build(header))


def _curves(readers: Sequence[WorkerReader], names: Sequence[str]) -> Iterator[_Curve]:
    rows = reduce_scalars(read_scalars(readers, ScalarQuestion(Matching(*(names or ("*",))))))
    texts = [texts_of(rows[column]) for column in ("name", "mode", "source")]
    columns = [to_numpy(rows[column]) for column in ("minimum", "value", "maximum")]
    steps = to_numpy(rows["step"])
    sizes = [max(1, len(distinct)) for distinct, _ in texts]
    numbers = texts[0][1].astype(np.int64) * sizes[1] * sizes[2]
    numbers = numbers + texts[1][1] * sizes[2] + texts[2][1]
    for number in np.unique(numbers).tolist():
        indices = np.flatnonzero(numbers == number)
        indices = indices[np.argsort(steps[indices], kind="stable")]
        name = texts[0][0][number // (sizes[1] * sizes[2])]
        mode = texts[1][0][number // sizes[2] % sizes[1]]
        bands = tuple(column[indices].astype(np.float64) for column in columns)
        assert len(bands) == 3
        source = texts[2][0][number % sizes[2]]
        yield _Curve(name, mode, source, steps[indices].astype(np.float64), bands)


def _throughput(events: Intervals) -> _Curve:
    """Steps per second of one worker; for a repeated step, the last attempt counts."""
    done = events.of(STEP, mode="train")
    order = np.lexsort((done.ends_ns, done.steps))
    last = order[np.append(np.diff(done.steps[order]) != 0, True)[: len(order)]]
    done = done.take(last)
    with np.errstate(divide="ignore"):
        rates = NANOSECONDS / (done.ends_ns - done.starts_ns).astype(np.float64)
    return _Curve(THROUGHPUT, "train", "hook", done.steps.astype(np.float64), (rates,) * 3)


def _described(frame: FrameBuilder, curve: _Curve, max_points: int) -> dict[str, Any]:
    steps, bands = _bucketed(curve, max_points)
    values = curve.bands[1]
    non_finite = np.flatnonzero(~np.isfinite(values))
    return {
        "name": curve.name,
        "mode": curve.mode,
        "source": curve.source,
        "unit": "steps/s" if curve.name == THROUGHPUT else None,
        "count": len(values),
        "last": {"step": int(curve.steps[-1]), "value": float(values[-1])},
        "not_finite": {
            "count": len(non_finite),
            "first_step": int(curve.steps[non_finite[0]]) if len(non_finite) else None,
        },
        "x": frame.add(steps),
        "parts": {
            name: frame.add(band.astype("<f4"))
            for name, band in zip(("min", "mean", "max"), bands, strict=True)
        },
    }


def _bucketed(curve: _Curve, max_points: int) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Merge neighboring points until there is about one per pixel."""
    if len(curve.steps) <= max_points:
        return curve.steps, curve.bands
    firsts = np.unique(
        np.linspace(0, len(curve.steps), max_points, endpoint=False).astype(np.int64)
    )
    low, mean, high = curve.bands
    is_finite = np.isfinite(mean)
    counts = np.add.reduceat(is_finite, firsts, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.add.reduceat(np.where(is_finite, mean, 0.0), firsts) / counts
    lowest = np.fmin.reduceat(np.where(np.isfinite(low), low, np.nan), firsts)
    highest = np.fmax.reduceat(np.where(np.isfinite(high), high, np.nan), firsts)
    return curve.steps[firsts], (lowest, means, highest)
