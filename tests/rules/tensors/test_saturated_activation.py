"""SaturatedActivation: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from sonde.store.format import STATISTICS
from tests.fakes.job import FakeJob
from tests.fakes.training import inspected_steps, with_tensors
from tests.fakes.worker import statistics_of

RNG = np.random.default_rng(0)


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("SaturatedActivation", **parameters)["SaturatedActivation"]


def spread(scale: float, count: int = 200) -> FloatArray:
    return np.asarray(scale * RNG.standard_normal(count))


def test_saturated_tanh_is_reported_with_its_name() -> None:
    tensors = {
        "rnn.tanh_input_0": ("tanh_input", lambda _: spread(40.0)),
        "out.tanh_input_0": ("tanh_input", lambda _: spread(1.0)),
    }
    [episode] = check(with_tensors(tensors, 100)).episodes
    assert episode.finding.tensor == "rnn.tanh_input_0"
    assert (episode.is_open, episode.first_step) == (True, 0)
    assert episode.finding.evidence["saturated_percent"] == pytest.approx(81, abs=8)


def test_saturated_sigmoid_is_reported() -> None:
    tensors = {"gate_input_0": ("sigmoid_input", lambda _: spread(5.0) + 60)}
    [episode] = check(with_tensors(tensors, 30)).episodes
    assert episode.finding.evidence["saturated_percent"] == 100.0


def test_shares_are_estimated_from_mean_and_deviation_without_histograms() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("x", "tanh_input")
    for step in range(10):
        for name, scale in (("x", 40.0), ("y", 2.0)):
            worker.add_tensor(name, "tanh_input")
            row = statistics_of(spread(scale))[:-1]
            worker.writer.add(STATISTICS, (name, job.clock.now_ns(), step, "train", *row, ""))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    [episode] = check(job.end()).episodes
    assert episode.finding.evidence["layers"] == ["x"]
    assert episode.finding.evidence["saturated_percent"] == pytest.approx(81, abs=8)


HEALTHY = {
    "small": ("tanh_input", lambda _: spread(1.0)),
    "confident": ("sigmoid_input", lambda _: spread(12.0)),
    "black and white images": ("tanh_input", lambda _: np.sign(spread(1.0)) * 6),
    "large for two steps": ("tanh_input", lambda step: spread(40.0 if step < 2 else 1.0)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_layers_are_not_reported(name: str) -> None:
    result = check(with_tensors({"x": HEALTHY[name]}, 100))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def with_output(kind: str, scale: Callable[[int], float]) -> FakeJob:
    """A layer with six inputs and a model with one output."""
    job = FakeJob()
    worker = (
        job.worker()
        .add_tensor("x", kind, shape=(4, 6))
        .add_tensor("output_0", "outputs", shape=(4, 1))
    )
    for step in range(100):
        if step in inspected_steps(100):
            worker.statistics("x", step, spread(scale(step))).statistics("output_0", step, [0.0])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


@pytest.mark.parametrize(("kind", "scale"), [("tanh_input", 7.0), ("sigmoid_input", 15.0)])
def test_layer_that_starts_in_the_flat_range_is_reported(kind: str, scale: float) -> None:
    [episode] = check(with_output(kind, lambda _: scale)).episodes
    assert (episode.first_step, episode.finding.tensor) == (0, "x")


@pytest.mark.parametrize(("kind", "scale"), [("tanh_input", 7.0), ("sigmoid_input", 15.0)])
def test_layer_that_reaches_the_flat_range_later_is_not_reported(kind: str, scale: float) -> None:
    assert check(with_output(kind, lambda step: scale if step > 3 else 1.0)).episodes == ()
    assert check(with_output(kind, lambda step: scale if step < 15 else 1.0)).episodes == ()


def test_only_explicit_bounds_apply_if_set() -> None:
    job = with_output("tanh_input", lambda _: 7.0)
    assert check(job, threshold_tanh_max=9.0, threshold_tanh_min=-9.0).episodes == ()


def test_rule_does_not_apply_without_tanh_or_sigmoid_layers() -> None:
    result = check(with_tensors({"x": ("relu_input", lambda _: spread(99.0))}, 20))
    assert result.status is RuleStatus.NOT_APPLICABLE


def test_classic_setting_follows_the_documented_criterion() -> None:
    def at(step: int) -> list[float]:
        return [20.0] * (6 if step == 1 else 5) + [0.0] * (4 if step == 1 else 5)

    result = check(with_tensors({"x": ("tanh_input", at)}, 6), setting="classic")
    assert result.triggered == 1  # six of ten are more than half, five are not
    [episode] = result.episodes
    assert (episode.first_step, episode.finding.evidence["saturated_percent"]) == (1, 60.0)


def test_parameters_select_layers_by_name_and_collection() -> None:
    saturated = {
        "a.tanh_input_0": ("tanh_input", lambda _: spread(40.0)),
        "b.sigmoid_input_0": ("sigmoid_input", lambda _: spread(5.0) + 60),
    }
    job = with_tensors(saturated, 30)
    for selection, tensor in (
        ({"tensor_regex": "^a"}, "a.tanh_input_0"),
        ({"collection_names": ("sigmoid_input",)}, "b.sigmoid_input_0"),
    ):
        [episode] = check(job, **selection).episodes
        assert episode.finding.evidence["layers"] == [tensor]
