"""One metric of all nodes over time, outliers first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonde.analyze.outliers import robust_deviation
from sonde.clock import NANOSECONDS
from sonde.formats import format_value
from sonde.records.arrays import FloatArray
from sonde.records.job import JobState
from sonde.web.answers._answers import Endpoint, EndpointGroup
from sonde.web.columns import AGGREGATES, HALF_PERCENT
from sonde.web.fleet_matrix import MAX_COLUMNS, FleetMatrix, read_matrix
from sonde.web.frames import FrameBuilder, quantized
from sonde.web.query_params import Query
from sonde.web.replies import Reply, frame_reply
from sonde.web.shared_job import SharedJob
from sonde.web.windows import window_document

_MATRIX_SECONDS = 5.0  # how long the matrix of a running job is reused
_OUTLIER_DEVIATIONS = 3.5  # robust standard deviations from the median
_MIN_SHARE = 0.05  # of the median, or of 100%: smaller differences are ignored
_BAD = (JobState.FAILED, JobState.LOST, JobState.STOPPED)
_DEFAULT_METRICS = ("gpu.utilization_percent", "cpu.utilization_percent")


class Fleet(EndpointGroup):
    """`fleet`: one metric of every node."""

    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
        return (Endpoint("/jobs/{job}/fleet", _fleet),)


def _fleet(query: Query) -> Reply:
    job, window, by = query.job, query.window, query.choice("by", AGGREGATES)
    metric = query.text("metric") or _default_metric(job)
    full_matrix = job.cached(
        ("fleet", metric),
        _MATRIX_SECONDS,
        lambda: read_matrix(job, metric, job.extent, MAX_COLUMNS),
    )
    matrix = full_matrix.cut(window, query.pixels)
    if matrix.mean.shape[1] < query.pixels // 4 and full_matrix.width_ns > NANOSECONDS:
        matrix = read_matrix(job, metric, window, query.pixels)
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


def _default_metric(job: SharedJob) -> str:
    for name in job.facts.nodes[:4]:
        with job.node(name) as reader:
            for metric in _DEFAULT_METRICS:
                if reader.series(metric):
                    return metric
    return _DEFAULT_METRICS[-1]


def ranking(job: SharedJob, matrix: FleetMatrix) -> list[dict[str, Any]]:
    """All nodes, outliers first: nodes that failed, have no samples, or differ from the others."""
    is_finite = ~np.isnan(matrix.mean)
    counts = is_finite.sum(axis=1)
    sums = np.where(is_finite, matrix.mean, 0).sum(axis=1, dtype=np.float64)
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    distances = _distances(means, matrix.unit)
    median = float(np.nanmedian(means)) if counts.any() else float("nan")
    states = {node.attempt.node: node.state for node in job.facts.latest}
    ranked = []
    for row, name in enumerate(matrix.nodes):
        state = states.get(name)
        mean, distance = float(means[row]), float(distances[row])
        reason = _reason(state, mean, distance, median, matrix.unit)
        rank = 0 if state in _BAD else 1 if np.isnan(mean) else 2 if reason else 3
        ranked.append((rank, -distance, name, {"reason": reason, "mean": mean, "state": state}))
    ranked.sort(key=lambda entry: entry[:3])
    return [
        {"node": name, **facts, "is_outlier": facts["reason"] is not None}
        for _, _, name, facts in ranked
    ]


def _distances(means: FloatArray, unit: str | None) -> FloatArray:
    """The distance of each mean from the median in robust deviations; 0 if it is negligible."""
    if np.isnan(means).all():
        return np.zeros(len(means))
    median = np.nanmedian(means)
    deviations = np.abs(means - median)
    deviation = robust_deviation(means, float(median))
    min_distance = _MIN_SHARE * (100.0 if unit == "percent" else abs(float(median)))
    scores = deviations / max(deviation, min_distance / _OUTLIER_DEVIATIONS, 1e-12)
    return np.asarray(np.where(np.isnan(scores) | (deviations < min_distance), 0.0, scores))


def _reason(
    state: JobState | None, mean: float, distance: float, median: float, unit: str | None
) -> str | None:
    if state in _BAD:
        return f"this node {'was ' if state is not JobState.FAILED else ''}{state.value}"
    if np.isnan(mean):
        return "no samples in this range"
    if distance < _OUTLIER_DEVIATIONS:
        return None
    side = "below" if mean < median else "above"
    mean_text, median_text = (format_value(value, unit or "") for value in (mean, median))
    return f"{mean_text}, {side} the median of {median_text}"
