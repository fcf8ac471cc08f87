"""PoorWeightInitialization: planted faults and their healthy twins."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_tensors

RNG = np.random.default_rng(0)


def check(job: FakeJob, **parameters: object) -> Evaluation:
    name = "PoorWeightInitialization"
    return job.job().check(name, **parameters)[name]


def layered(deviations: Sequence[float], loss: Callable[[int], float] = lambda _: 1.0) -> FakeJob:
    """A model whose layer inputs have these standard deviations."""

    def values(deviation: float) -> Callable[[int], FloatArray]:
        return lambda _: np.asarray(deviation * RNG.standard_normal(64))

    tensors = {
        f"layers.{2 * index + 1}_input_0": ("relu_input", values(item))
        for index, item in enumerate(deviations)
    }
    return with_tensors(tensors, 40, scalars={"loss": loss})


def test_exploding_signal_is_reported_at_the_last_layer() -> None:
    [episode] = check(layered([8, 60, 500, 4e3, 3e4, 3e5])).episodes
    assert episode.finding.tensor == "layers.11_input_0"  # sorted as a number, after layers.9
    assert "explodes" in episode.finding.message
    assert episode.is_open


def test_vanishing_signal_is_reported() -> None:
    [episode] = check(layered([0.1, 1e-3, 1e-5, 1e-7])).episodes
    assert "vanishes" in episode.finding.message


def test_vanishing_signal_replaced_by_biases_is_reported() -> None:
    [episode] = check(layered([0.1, 1e-3, 1e-6, 1e-5, 1e-3])).episodes
    assert episode.finding.tensor == "layers.5_input_0"


HEALTHY = {
    "a branch that starts at zero": [1.0, 0.9, 0.0, 1.0],
    "normalized": [1.0, 0.9, 1.1, 1.0, 0.8],
    "PyTorch defaults": [0.6, 0.25, 0.12, 0.08, 0.075, 0.075],
    "inputs from 0 to 255": [90.0, 30.0, 12.0, 5.0, 2.0],
    "residual sums grow": [1.0, 1.4, 2.0, 2.8, 4.0, 5.6],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_layers_are_not_reported(name: str) -> None:
    result = check(layered(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_rule_does_not_apply_to_two_layers() -> None:
    result = check(layered([1.0, 1e5]))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "inputs of 2 ReLU layers recorded, 3 needed"


def test_explicit_threshold_applies() -> None:
    assert check(layered([10, 20, 60]), threshold=20).episodes
    assert check(layered([10, 20, 60])).episodes == ()


def test_classic_variances() -> None:
    tensors = {
        "a": ("relu_input", lambda _: [-1.0, 1.0]),
        "b": ("relu_input", lambda step: [-3.0, 3.0] if step < 2 else [-4.0, 4.0]),
    }
    job = with_tensors(tensors, 12, at=range(12))  # ratios 9, 9, 16, …
    result = check(job, setting="classic")
    assert result.triggered == 8  # of the first ten steps
    assert check(job, setting="classic", steps=4).triggered == 2
    assert check(job, setting="classic", activation_inputs_regex="a").triggered == 0


def test_classic_gradients_and_losses() -> None:
    spread = {"gradient/w": ("gradients", lambda _: [-0.01, 0.0, 0.01])}
    losses = [1.0, 0.9, 0.95, 0.9, 0.9, 0.9, 0.91, 0.5]
    job = with_tensors(spread, 8, at=range(8), scalars={"loss": lambda step: losses[step]})
    result = check(job, setting="classic")
    assert [episode.finding.subject for episode in result.episodes] == ["loss"]
    assert result.triggered == 1  # five steps after 0.9
    narrow = check(job, setting="classic", distribution_range=0.1, patience=9)
    assert narrow.triggered == 8
