"""Curves over steps: losses, metrics, learning rates, gradient norms, throughput."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.clock import NANOSECONDS
from sonde.read.scalars import Matching, ScalarQuestion, read_scalars, reduce_scalars
from sonde.read.workers import WorkerReader
from sonde.store.tables import texts_of, to_numpy
from sonde.web.answers._answers import Address, Answers
from sonde.web.frames import FrameBuilder
from sonde.web.intervals import STEP, Stretches
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply

THROUGHPUT = "throughput"
_MOST_NAMES = 128
_MOST_WORKERS = 16  # in a distributed training all do the same
Reals = npt.NDArray[np.float64]


class Scalars(Answers):
    """`scalars`: curves over steps, each with its own steps; the mean over the workers."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/scalars", _scalars),)


@dataclass(frozen=True)
class _Curve:
    """One scalar over steps: its mean over the workers, and the extremes."""

    name: str
    mode: str
    source: str
    steps: Reals
    parts: tuple[Reals, Reals, Reals]  # lowest, mean, highest


def _scalars(question: Question) -> Reply:
    names, pixels = question.texts("names", _MOST_NAMES), question.pixels
    ranks = [int(one) for one in question.job.facts.workers[:_MOST_WORKERS]]
    if question.text("worker"):
        ranks = [question.worker]
    frame = FrameBuilder()
    with question.job.workers(ranks) as readers:
        curves = list(_curves(readers, names))
    if ranks and (not names or THROUGHPUT in names):
        curves.append(_throughput(question.job.stretches(ranks[0])))
    curves = [one for one in curves if len(one.steps)]
    header = {"scalars": [_described(frame, one, pixels) for one in curves]}
    return frame_reply(frame.build(header))


def _curves(readers: Sequence[WorkerReader], names: Sequence[str]) -> Iterator[_Curve]:
    rows = reduce_scalars(read_scalars(readers, ScalarQuestion(Matching(*(names or ("*",))))))
    texts = [texts_of(rows[column]) for column in ("name", "mode", "source")]
    columns = [to_numpy(rows[one]) for one in ("minimum", "value", "maximum")]
    steps = to_numpy(rows["step"])
    sizes = [max(1, len(distinct)) for distinct, _ in texts]
    numbers = texts[0][1].astype(np.int64) * sizes[1] * sizes[2]
    numbers = numbers + texts[1][1] * sizes[2] + texts[2][1]
    for number in np.unique(numbers).tolist():
        mine = np.flatnonzero(numbers == number)
        mine = mine[np.argsort(steps[mine], kind="stable")]
        name = texts[0][0][number // (sizes[1] * sizes[2])]
        mode = texts[1][0][number // sizes[2] % sizes[1]]
        parts = tuple(one[mine].astype(np.float64) for one in columns)
        assert len(parts) == 3
        source = texts[2][0][number % sizes[2]]
        yield _Curve(name, mode, source, steps[mine].astype(np.float64), parts)


def _throughput(every: Stretches) -> _Curve:
    """Steps per second, as one worker does them; of one that was done twice, the last."""
    done = every.of(STEP, mode="train")
    order = np.lexsort((done.ends_ns, done.steps))
    last = order[np.append(np.diff(done.steps[order]) != 0, True)[: len(order)]]
    done = done.take(last)
    with np.errstate(divide="ignore"):
        rates = NANOSECONDS / (done.ends_ns - done.starts_ns).astype(np.float64)
    return _Curve(THROUGHPUT, "train", "hook", done.steps.astype(np.float64), (rates,) * 3)


def _described(frame: FrameBuilder, curve: _Curve, most: int) -> dict[str, Any]:
    steps, parts = _bucketed(curve, most)
    values = curve.parts[1]
    wrong = np.flatnonzero(~np.isfinite(values))
    return {
        "name": curve.name,
        "mode": curve.mode,
        "source": curve.source,
        "unit": "steps/s" if curve.name == THROUGHPUT else None,
        "count": len(values),
        "last": {"step": int(curve.steps[-1]), "value": float(values[-1])},
        "not_finite": {
            "count": len(wrong),
            "first_step": int(curve.steps[wrong[0]]) if len(wrong) else None,
        },
        "x": frame.add(steps),
        "parts": {
            name: frame.add(one.astype("<f4"))
            for name, one in zip(("min", "mean", "max"), parts, strict=True)
        },
    }


def _bucketed(curve: _Curve, most: int) -> tuple[Reals, tuple[Reals, ...]]:
    """As many points as there are columns, each with the lowest, the mean and the highest."""
    if len(curve.steps) <= most:
        return curve.steps, curve.parts
    firsts = np.unique(np.linspace(0, len(curve.steps), most, endpoint=False).astype(np.int64))
    low, mean, high = curve.parts
    known = np.isfinite(mean)
    counts = np.add.reduceat(known, firsts, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.add.reduceat(np.where(known, mean, 0.0), firsts) / counts
    lowest = np.fmin.reduceat(np.where(np.isfinite(low), low, np.nan), firsts)
    highest = np.fmax.reduceat(np.where(np.isfinite(high), high, np.nan), firsts)
    return curve.steps[firsts], (lowest, means, highest)
