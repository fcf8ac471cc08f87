"""Compare the predictions of a boosted model with the labels."""

from typing import Any

import numpy as np
import numpy.typing as npt

from sonde.hook.boosting.objectives import Array, Objective
from sonde.records.observations.boosting import PredictionQuality, Task

Facts = dict[str, Any]  # fields of a record

_MAX_ROWS = 100_000  # evenly spaced rows of a larger data set
_MAX_CLASSES = 50
_RATES = 33  # points of the ROC curve
_RESIDUAL_BINS = 24
_LABEL_BINS = 10
_CLIPPED = (0.5, 99.5)  # percentiles of residuals; values beyond are in the outer bins


def measure_quality(
    objective: Objective, margins: Array, labels: Array, *, is_training_data: bool
) -> PredictionQuality | None:
    """Compare predictions with labels; None if labels do not fit the objective.

    Args:
        objective: The objective of the model.
        margins: Raw predictions.
        labels: The labels.
        is_training_data: Whether the model trains on this data.
    """
    rows = len(labels)
    stride = max(1, -(-rows // _MAX_ROWS))
    margins, labels = margins[::stride], labels[::stride]
    is_known = np.isfinite(labels)
    predictions, labels = objective.link(margins)[is_known], labels[is_known]
    if not len(labels) or len(predictions) != len(labels):
        return None
    facts: dict[str, Any] = {"rows": rows, "compared": len(labels)}
    facts["is_training_data"] = is_training_data
    if objective.task is Task.REGRESSION:
        measured = _regression(predictions, labels) if predictions.ndim == 1 else None
    elif objective.task is Task.BINARY:
        measured = _binary(predictions, labels)
    else:
        measured = _classes(predictions.argmax(axis=1), labels, predictions.shape[1])
    return None if measured is None else PredictionQuality(objective.task, **facts, **measured)


def class_hits(quality: PredictionQuality) -> dict[str, tuple[int, int]]:
    """The numbers of correct and incorrect predictions by label."""
    return {
        label: (row[index], sum(row) - row[index])
        for index, (label, row) in enumerate(zip(quality.classes, quality.confusion, strict=True))
        if sum(row)
    }


def label_counts(quality: PredictionQuality) -> dict[str, int]:
    """The number of rows by label."""
    return {
        label: sum(row)
        for label, row in zip(quality.classes, quality.confusion, strict=True)
        if sum(row)
    }


def _classes(predicted: npt.NDArray[np.int64], labels: Array, classes: int) -> Facts | None:
    actual = labels.astype(np.int64)
    is_class = np.array_equal(actual, labels) and actual.min() >= 0 and actual.max() < classes
    if not is_class or classes > _MAX_CLASSES:
        return None
    counts = np.bincount(actual * classes + predicted, minlength=classes * classes)
    return {
        "classes": tuple(map(str, range(classes))),
        "confusion": tuple(map(tuple, counts.reshape(classes, classes).tolist())),
    }


def _binary(probabilities: Array, labels: Array) -> Facts | None:
    measured = _classes((probabilities > 0.5).astype(np.int64), labels, 2)
    if measured is None or probabilities.ndim != 1:
        return None
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        return measured
    order = np.argsort(-probabilities, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(probabilities[order]) != 0, True))  # of equal values
    true = np.append(0.0, np.cumsum(labels[order])[ends] / positives)
    false = np.append(0.0, (ends + 1) / negatives - true[1:] * positives / negatives)
    rates = np.interp(np.linspace(0, 1, _RATES), false, true)
    rates[0] = true[false <= 0].max()
    return measured | {
        "true_positive_rates": tuple(np.round(rates, 5).tolist()),
        "auc": float((np.diff(false) * (true[1:] + true[:-1])).sum() / 2),
    }


def _regression(predictions: Array, labels: Array) -> Facts:
    labels = labels.astype(np.float64)
    residuals = predictions.astype(np.float64) - labels
    residuals, labels = residuals[np.isfinite(residuals)], labels[np.isfinite(residuals)]
    if not len(residuals):
        return {}
    low, high = np.percentile(residuals, _CLIPPED).tolist()
    high = high if high > low else low + 1.0
    counts, edges = np.histogram(np.clip(residuals, low, high), _RESIDUAL_BINS, (low, high))
    label_counts, label_edges = np.histogram(labels, _LABEL_BINS)
    bins = np.clip(np.digitize(labels, label_edges[1:-1]), 0, _LABEL_BINS - 1)
    squares = np.bincount(bins, residuals**2, minlength=_LABEL_BINS)
    spread = float(((labels - labels.mean()) ** 2).sum())
    return {
        "residual_edges": tuple(edges.tolist()),
        "residuals": tuple(counts.tolist()),
        "label_edges": tuple(label_edges.tolist()),
        "label_counts": tuple(label_counts.tolist()),
        "label_errors": tuple(
            float(np.sqrt(total / count)) if count else None
            for total, count in zip(squares.tolist(), label_counts.tolist(), strict=True)
        ),
        "r_squared": 1 - float((residuals**2).sum()) / spread if spread else None,
    }
