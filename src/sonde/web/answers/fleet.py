"""All nodes of a job over time, those that stand out first."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.analyze.outliers import robust_deviation
from sonde.clock import NANOSECONDS
from sonde.formats import format_value
from sonde.records.job import JobState
from sonde.web.answers._answers import Address, Answers
from sonde.web.answers.heat import BY, HALF_PERCENT, window_document
from sonde.web.fleet_matrix import MOST_COLUMNS, FleetMatrix, read_matrix
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.query_params import Question
from sonde.web.replies import Reply, frame_reply
from sonde.web.shared_job import SharedJob

_WHOLE_SECONDS = 5.0  # so old the matrix of a job that runs may be
_STANDS_OUT = 3.5  # times the usual distance from the middle
_LEAST_SHARE = 0.05  # of the middle, or of all percents: less is no matter
_BAD = (JobState.FAILED, JobState.LOST, JobState.STOPPED)
_USUAL = ("gpu.utilization_percent", "cpu.utilization_percent")
Reals = npt.NDArray[np.float64]


class Fleet(Answers):
    """`fleet`: one metric of every node."""

    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
        return (Address("/jobs/{job}/fleet", _fleet),)


def _fleet(question: Question) -> Reply:
    job, window, by = question.job, question.window, question.choice("by", BY)
    metric = question.text("metric") or _usual_metric(job)
    whole = job.cached(
        ("fleet", metric),
        _WHOLE_SECONDS,
        lambda: read_matrix(job, metric, job.extent, MOST_COLUMNS),
    )
    matrix = whole.cut(window, question.pixels)
    if matrix.mean.shape[1] < question.pixels // 4 and whole.width_ns > NANOSECONDS:
        matrix = read_matrix(job, metric, window, question.pixels)
    frame = FrameBuilder()
    values = matrix.by(by)
    is_percent = matrix.unit == "percent"
    codes = quantized(values, HALF_PERCENT, np.dtype("<u1")) if is_percent else values
    header = {
        **window_document(window),
        "metric": metric,
        "unit": matrix.unit,
        "by": by,
        "columns": {
            "start": matrix.first * matrix.width_ns / NANOSECONDS,
            "width": matrix.width_ns / NANOSECONDS,
            "count": values.shape[1],
        },
        "rows": [{"node": name} for name in matrix.nodes],
        "values": frame.add(codes, HALF_PERCENT if is_percent else None),
        "ranking": ranking(job, matrix),
    }
    return frame_reply(frame.build(header))


def _usual_metric(job: SharedJob) -> str:
    for name in job.facts.nodes[:4]:
        with job.node(name) as reader:
            for metric in _USUAL:
                if reader.series(metric):
                    return metric
    return _USUAL[-1]


def ranking(job: SharedJob, matrix: FleetMatrix) -> list[dict[str, Any]]:
    """Every node, what stands out first: those that died, are silent, or differ from the others."""
    known = ~np.isnan(matrix.mean)
    counts = known.sum(axis=1)
    sums = np.where(known, matrix.mean, 0).sum(axis=1, dtype=np.float64)
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    distances = _distances(means, matrix.unit)
    middle = float(np.nanmedian(means)) if counts.any() else float("nan")
    states = {one.attempt.node: one.state for one in job.facts.latest}
    found = []
    for row, name in enumerate(matrix.nodes):
        state = states.get(name)
        mean, distance = float(means[row]), float(distances[row])
        reason = _reason(state, mean, distance, middle, matrix.unit)
        rank = 0 if state in _BAD else 1 if np.isnan(mean) else 2 if reason else 3
        found.append((rank, -distance, name, {"reason": reason, "mean": mean, "state": state}))
    found.sort(key=lambda one: one[:3])
    return [
        {"node": name, **facts, "is_outlier": facts["reason"] is not None}
        for _, _, name, facts in found
    ]


def _distances(means: Reals, unit: str | None) -> Reals:
    """How far each lies from the middle, in the usual distance; nothing where that is no matter."""
    if np.isnan(means).all():
        return np.zeros(len(means))
    middle = np.nanmedian(means)
    apart = np.abs(means - middle)
    usual = robust_deviation(means, float(middle))
    least = _LEAST_SHARE * (100.0 if unit == "percent" else abs(float(middle)))
    far = apart / max(usual, least / _STANDS_OUT, 1e-12)
    return np.asarray(np.where(np.isnan(far) | (apart < least), 0.0, far))


def _reason(
    state: JobState | None, mean: float, distance: float, middle: float, unit: str | None
) -> str | None:
    if state in _BAD:
        return f"this node {'was ' if state is not JobState.FAILED else ''}{state.value}"
    if np.isnan(mean):
        return "nothing was measured in this range"
    if distance < _STANDS_OUT:
        return None
    side = "below" if mean < middle else "above"
    return f"{format_value(mean, unit or '')}, {side} the {format_value(middle, unit or '')} of most nodes"
