"""Scalars over steps as curves."""

from math import isfinite

from sonde.results.curves import curves_over_steps, losses_over_steps
from tests.fakes.job import FakeJob


def _tones(*names: str) -> list[tuple[str, str]]:
    job = FakeJob()
    worker = job.worker()
    for step in range(2):
        for name in names:
            worker.scalar(name, step, 1.0, mode="eval").scalar(name, step, 2.0)
    worker.flush()
    chart = curves_over_steps(job.end().job().scalars().to_arrow(), "Losses")
    assert chart is not None
    return [(curve.label, curve.tone) for curve in chart.curves]


def test_training_curve_comes_first_and_each_mode_has_its_color() -> None:
    assert _tones("loss") == [("loss (train)", "train"), ("loss (eval)", "eval")]


def test_several_scalars_have_different_colors() -> None:
    assert {tone for _, tone in _tones("accuracy", "loss")} == {""}


def test_evaluations_are_drawn_at_their_training_steps() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(10):
        worker.scalar("loss", step, 10.0 - step).scalar("loss", step, 99.0, mode="eval")
    worker.flush()
    evaluations = [
        {"name": "train (evaluated)", "step": 5, "loss": 4.5},
        {"name": "validation", "step": 5, "loss": 5.5},
        {"name": "validation", "step": 10, "loss": 3.5},
        {"name": "accuracy only", "step": 10, "loss": None},
    ]
    rows = job.end().job().losses.reduced().to_arrow()

    chart = losses_over_steps(rows, "Losses", evaluations)

    assert chart is not None
    assert [curve.label for curve in chart.curves] == ["loss", "train (evaluated)", "validation"]
    trained, _, validation = chart.curves
    assert max(value for value in trained.values if value is not None and isfinite(value)) == 10
    points = {
        x: value
        for x, value in zip(chart.x, validation.values, strict=True)
        if value is not None and isfinite(value)
    }
    assert points == {5.0: 5.5, 10.0: 3.5}
    assert validation.has_markers
    assert not trained.has_markers
