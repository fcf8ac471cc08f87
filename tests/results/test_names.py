"""Names that nothing has: what is said of them names what is there."""

import pytest

from sonde.errors import UsageError
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses, with_tensors


def test_a_metric_that_was_not_recorded_is_told_with_those_that_were() -> None:
    fake = FakeJob().record({"cpu.utilization_percent": [1.0], "memory.used_percent": [2.0]}).end()
    said = repr(fake.job().system("cpu.utilisation_percent"))
    assert said == (
        "No metric 'cpu.utilisation_percent' recorded. "
        "Did you mean 'cpu.utilization_percent'? "
        "Known: cpu.utilization_percent, memory.used_percent"
    )
    assert repr(fake.job().system("gpu.*")).endswith(
        "has been recorded. Known: cpu.*, memory.*"
    )
    assert repr(FakeJob().end().job().system()) == "No matching metric recorded"


def test_scalars_and_events_that_were_not_recorded_are_told_likewise() -> None:
    job = with_losses([1.0, 0.5]).job()
    assert repr(job.scalars("los")) == (
        "No scalar 'los' recorded. Did you mean 'loss'? Known: loss"
    )
    assert "Did you mean 'forward'? Known: forward" in repr(job.events("foward"))
    assert "Did you mean 'phase'? Known: phase" in repr(job.events(category="phases"))
    assert repr(job.scalars("x")) == "No scalar 'x' recorded. Known: loss"


def test_a_mode_that_there_is_not_is_refused_everywhere() -> None:
    job = with_losses([1.0]).job()
    for ask in (job.steps, lambda mode: job.scalars(mode=mode), lambda mode: job.python(mode=mode)):
        with pytest.raises(UsageError, match="Known: train, eval, predict"):
            ask("training")


def test_a_reduction_of_all_layers_is_one_table_and_one_picture() -> None:
    tensors = {
        "gradient/first": ("gradients", lambda step: [3.0 * (step + 1), 4.0 * (step + 1)]),
        "gradient/last": ("gradients", lambda _: [0.0, 0.0]),
        "first": ("weights", lambda _: [1.0]),
    }
    job = with_tensors(tensors, 3, at=[0, 2]).job()
    layers = job.tensors(collection="gradients").reduction("l2_norm")
    rows = layers.to_pandas()
    assert rows["tensor"].unique().tolist() == ["gradient/first", "gradient/last"]
    assert rows["value"].tolist() == [5, 15, 0, 0]
    assert repr(layers).splitlines()[1].split() == ["gradient/first", "2", "5", "15", "5", "15"]
    picture = layers.plot().document()
    assert (picture["rows"], picture["x"]) == (["gradient/first", "gradient/last"], [0, 2])
    assert (picture["low"], picture["high"], picture["is_logarithmic"]) == (5, 15, True)
    assert "No l2_norm" in repr(job.tensors("nothing").reduction("l2_norm"))
    assert job.tensors("nothing").reduction("l2_norm").plot().document()["mark"] == "text"
