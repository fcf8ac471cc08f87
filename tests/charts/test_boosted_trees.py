"""Charts of boosted trees: what they show of a recorded training."""

import json
from typing import Any

import pytest

from sonde.charts import CHARTS
from sonde.records.chart import Bars, Heatmap, Histogram, LineChart, Spec, Table
from sonde.records.observations.boosting import PredictionQuality, Task
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker
from tests.rules.trees.boosted import INSPECTED, Inspect, boosted_job, classes, importance

BINARY = ("label_distribution", "confusion_matrix", "class_metrics", "class_accuracy", "roc_curve")
REGRESSION = ("label_distribution", "residuals", "label_errors")
ALL = {*BINARY, *REGRESSION, "feature_importance"}
GAIN = "feature_importance/total_gain"


def build(job: FakeJob, name: str, kind: type[Spec]) -> Any:
    spec = CHARTS.load(name)().build(job.job())
    assert isinstance(spec, kind)
    json.dumps(spec.document(), allow_nan=False)
    return spec


def present(job: FakeJob) -> set[str]:
    opened = job.job()
    return {name for name in ALL if CHARTS.load(name)().build(opened) is not None}


def quality(record: PredictionQuality, name: str = "validation") -> Inspect:
    def inspect(worker: FakeWorker, number: int) -> None:
        worker.observation("prediction-quality", name, number, record.encode())

    return inspect


BINARY_QUALITY = PredictionQuality(
    Task.BINARY,
    rows=200,
    compared=200,
    classes=("0", "1"),
    confusion=((90, 10), (20, 80)),
    true_positive_rates=(0.2, 0.9, 1.0),
    auc=0.91,
)
NUMBERS = PredictionQuality(
    Task.REGRESSION,
    rows=40,
    compared=40,
    residual_edges=(-1.0, 0.0, 1.0),
    residuals=(25, 15),
    label_edges=(0.0, 5.0, 10.0, 15.0),
    label_counts=(30, 0, 10),
    label_errors=(0.5, None, 2.0),
    r_squared=0.8,
)


def test_binary_multiclass_and_regression_have_their_own_charts() -> None:
    assert present(boosted_job(quality(BINARY_QUALITY))) == set(BINARY)
    three = classes([[9, 1, 0], [1, 8, 1], [0, 2, 8]])
    assert present(boosted_job(three)) == set(BINARY) - {"roc_curve"}
    assert present(boosted_job(quality(NUMBERS))) == set(REGRESSION)
    assert present(boosted_job(importance([2.0, 1.0], GAIN))) == {"feature_importance"}


def test_the_confusion_matrix_shows_the_share_of_each_label() -> None:
    matrix = build(boosted_job(quality(BINARY_QUALITY)), "confusion_matrix", Heatmap)
    assert matrix.values == ((90.0, 10.0), (20.0, 80.0))
    assert matrix.rows == matrix.columns == ("class 0", "class 1")
    assert f"validation after step {INSPECTED[-1]}" in matrix.note


def test_data_that_is_not_trained_on_is_shown() -> None:
    job = boosted_job(classes([[5, 5], [5, 5]], "train"), classes([[9, 1], [2, 8]]))
    matrix = build(job, "confusion_matrix", Heatmap)
    assert matrix.values[0] == (90.0, 10.0)
    labels = build(job, "label_distribution", Bars)
    assert [part.label for part in labels.parts] == ["validation", "train (trained on)"]


def test_precision_recall_and_f1_are_those_of_the_matrix() -> None:
    table = build(boosted_job(quality(BINARY_QUALITY)), "class_metrics", Table)
    first = dict(zip([column.name for column in table.columns], table.rows[0], strict=True))
    assert first["precision"] == pytest.approx(100 * 90 / 110)
    assert first["recall"] == 90.0
    assert first["f1"] == pytest.approx(100 * 180 / 210)
    assert "Accuracy 85%, AUC 0.91." in table.note


def test_the_accuracy_of_each_class_is_drawn_over_steps() -> None:
    chart = build(boosted_job(quality(BINARY_QUALITY)), "class_accuracy", LineChart)
    assert chart.x == INSPECTED
    assert chart.curves[1].values == (80.0,) * len(INSPECTED)


def test_the_roc_curve_has_the_area_of_each_data_set() -> None:
    chart = build(boosted_job(quality(BINARY_QUALITY)), "roc_curve", LineChart)
    assert chart.x == (0.0, 50.0, 100.0)
    assert chart.curves[0].values == (20.0, 90.0, 100.0)
    assert chart.note == "Area under the curve: validation 0.91."


def test_regression_shows_residuals_and_errors_by_label() -> None:
    job = boosted_job(quality(NUMBERS))
    residuals = build(job, "residuals", Histogram)
    assert (residuals.edges, residuals.parts[0].values) == ((-1.0, 0.0, 1.0), (25, 15))
    assert "R² 0.8." in residuals.note
    errors = build(job, "label_errors", LineChart)
    assert [curve.label for curve in errors.curves] == ["0 to 5", "10 to 15"]
    labels = build(job, "label_distribution", Histogram)
    assert labels.parts[0].values == (30, 0, 10)


def test_importance_is_shown_in_percent_of_each_kind() -> None:
    job = boosted_job(importance([6.0, 3.0, 1.0, 0.0], GAIN), importance([1.0, 1.0]))
    table = build(job, "feature_importance", Table)
    assert [column.name for column in table.columns] == [
        *("feature", GAIN, "feature_importance/weight")
    ]
    assert table.rows[0] == ("feature 0", 60.0, 50.0)
    assert table.rows[2] == ("feature 2", 10.0, None)
    assert table.note == "Total gain: feature 0 60%; 3 of 4 used."


def test_only_the_latest_training_is_shown() -> None:
    def second(worker: FakeWorker, number: int) -> None:
        if number == 18:
            worker.observation("new-optimizer", "2", 18)

    chart = build(boosted_job(second, quality(BINARY_QUALITY)), "class_accuracy", LineChart)
    assert chart.x == tuple(step for step in INSPECTED if step >= 18)
