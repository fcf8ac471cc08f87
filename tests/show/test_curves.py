"""Scalars over steps as curves."""

from sonde.show.curves import curves_over_steps
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
    return [(one.label, one.tone) for one in chart.curves]


def test_training_comes_before_what_it_is_compared_with_and_modes_have_their_colors() -> None:
    assert _tones("loss") == [("loss (train)", "train"), ("loss (eval)", "eval")]


def test_of_several_scalars_each_has_a_color_of_its_own() -> None:
    assert {tone for _, tone in _tones("accuracy", "loss")} == {""}
