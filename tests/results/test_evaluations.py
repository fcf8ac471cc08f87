"""Evaluations of a job as a table."""

from sonde.records.chart import LineChart
from tests.fakes.evaluations import evaluate
from tests.fakes.job import FakeJob


def evaluated() -> FakeJob:
    fake = FakeJob()
    worker = fake.worker()
    for step, loss in ((100, 0.75), (200, 0.5)):
        evaluate(worker, "train (evaluated)", step, loss / 2)
        evaluate(worker, "validation", step, loss, metrics={"accuracy": 1 - loss})
    worker.flush()
    return fake


def test_a_table_has_a_row_per_evaluation_and_a_column_per_metric() -> None:
    table = evaluated().job().evaluations.to_arrow()

    assert table["step"].to_pylist() == [100, 100, 200, 200]
    assert table["loss"].to_pylist() == [0.375, 0.75, 0.25, 0.5]
    assert table["accuracy"].to_pylist() == [None, 0.25, None, 0.5]


def test_evaluations_can_be_selected_by_name() -> None:
    evaluations = evaluated().job().evaluations

    assert evaluations.names == ("train (evaluated)", "validation")
    assert [each.loss for each in evaluations["validation"]] == [0.75, 0.5]


def test_evaluations_print_as_lines_and_draw_a_curve_per_series() -> None:
    evaluations = evaluated().job().evaluations

    lines = repr(evaluations).splitlines()
    assert lines[0].split() == ["name", "step", "samples", "loss", "data"]
    assert lines[-1].split()[:4] == ["validation", "200", "100", "0.5"]
    picture = evaluations._chart_spec()
    assert isinstance(picture, LineChart)
    assert {curve.label for curve in picture.curves} == set(evaluations.names)


def test_a_job_without_evaluations_prints_a_sentence() -> None:
    assert repr(FakeJob().job().evaluations) == "No evaluations recorded"
