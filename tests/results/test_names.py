"""Errors for unknown names list the recorded ones."""

import pytest

from sonde.errors import UsageError
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses, with_tensors


def test_unknown_metric_lists_recorded_ones() -> None:
    fake = FakeJob().record({"cpu.utilization_percent": [1.0], "memory.used_percent": [2.0]}).end()
    text = repr(fake.job().system("cpu.utilisation_percent"))
    assert text == (
        "No metric 'cpu.utilisation_percent' recorded. "
        "Did you mean 'cpu.utilization_percent'? "
        "Available: cpu.utilization_percent, memory.used_percent"
    )
    assert repr(fake.job().system("gpu.*")).endswith("recorded. Available: cpu.*, memory.*")
    assert repr(FakeJob().end().job().system()) == "No matching metric recorded"


def test_metrics_are_selected_by_a_regular_expression_if_no_glob_matches() -> None:
    fake = FakeJob().record({"cpu.utilization_percent": [1.0], "memory.used_percent": [2.0]}).end()
    metrics = fake.job().system("^(cpu|gpu)")
    assert [each.metric.name for each in metrics.series] == ["cpu.utilization_percent"]
    assert "'^(cpu|gpu)' is read as a regular expression" in repr(metrics)


def test_unknown_scalars_and_events_list_recorded_ones() -> None:
    job = with_losses([1.0, 0.5]).job()
    assert repr(job.scalars("los")) == (
        "No scalar 'los' recorded. Did you mean 'loss'? Available: loss"
    )
    assert "Did you mean 'forward'? Available: forward" in repr(job.events("foward"))
    assert "Did you mean 'phase'? Available: phase" in repr(job.events(category="phases"))
    assert repr(job.scalars("x")) == "No scalar 'x' recorded. Available: loss"


def test_unknown_mode_is_an_error_in_every_query() -> None:
    job = with_losses([1.0]).job()
    for ask in (job.steps, lambda mode: job.scalars(mode=mode), lambda mode: job.python(mode=mode)):
        with pytest.raises(UsageError, match="Available: train, eval, predict"):
            ask("training")


def test_reduction_of_all_layers_is_a_table_and_a_chart() -> None:
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
