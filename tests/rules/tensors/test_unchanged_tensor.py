"""UnchangedTensor: planted faults and their healthy twins."""

from collections.abc import Callable
from math import nan

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_tensors

BEGIN = np.random.default_rng(0).standard_normal(64)
MOVES = np.random.default_rng(1).standard_normal(64)

Values = Callable[[int], FloatArray]


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("UnchangedTensor", **parameters)["UnchangedTensor"]


def trained(weights: dict[str, Values], gradient: float = 1e-3, rate: float = 0.1) -> FakeJob:
    tensors: dict[str, tuple[str, Values]] = {}
    for name, values in weights.items():
        tensors[name] = ("weights", values)
        tensors[f"gradient/{name}"] = ("gradients", lambda _: gradient * MOVES)
    rates = {"learning_rate/0": lambda _: 0.1, "learning_rate/1": lambda _: rate}
    return with_tensors(tensors, 200, scalars=rates)


def moving(step: int) -> FloatArray:
    return np.asarray(BEGIN + 1e-4 * step * MOVES)


def still(_: int) -> FloatArray:
    return BEGIN


def test_weight_that_does_not_change_while_others_learn_is_reported() -> None:
    [episode] = check(trained({"body": moving, "head": still})).episodes
    assert episode.finding.tensor == "head"
    assert (episode.first_step, episode.is_open) == (0, True)


HEALTHY: dict[str, dict[str, Values]] = {
    "all weights move": {"a": moving, "b": moving},
    "no weight moves": {"a": still, "b": still},
    "one weight waits for warm-up": {
        "a": moving,
        "b": lambda step: BEGIN if step < 20 else moving(step),
    },
    "one weight moves very little": {"a": moving, "b": lambda step: BEGIN + 1e-7 * step * MOVES},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_weights_are_not_reported(name: str) -> None:
    result = check(trained(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_weight_without_a_gradient_is_not_reported() -> None:
    assert check(trained({"a": moving, "b": still}, gradient=0.0)).episodes == ()


def test_head_trained_in_a_later_phase_is_not_reported() -> None:
    tensors: dict[str, tuple[str, Values]] = {
        "body": ("weights", moving),
        "gradient/body": ("gradients", lambda _: MOVES),
        "head": ("weights", lambda step: BEGIN if step <= 130 else moving(step)),
        "gradient/head": ("gradients", lambda step: (step >= 130) * MOVES),
    }
    assert check(with_tensors(tensors, 200)).episodes == ()


def test_learning_rate_of_zero_is_not_reported() -> None:
    assert check(trained({"a": moving, "b": still}, rate=0.0)).episodes == ()


def test_two_inspections_are_not_enough_data() -> None:
    result = check(with_tensors({"a": ("weights", still)}, 2))
    assert result.reason == "Not enough data: 2 of 3 inspections"


def test_classic_setting_follows_the_documented_criterion() -> None:
    values = [1.0, 1.0, 1.0, 1.0 + 5e-6, 1.1, 1.1]
    job = with_tensors({"a": ("inputs", lambda step: [values[step]])}, 6, at=range(6))
    result = check(job, setting="classic")
    assert result.triggered == 2  # steps 0–2 and, within rtol, 1–3
    assert check(job, setting="classic", rtol=1e-7).triggered == 1
    assert check(job, setting="classic", num_steps=2).triggered == 4


def test_classic_setting_treats_nan_as_equal_if_requested() -> None:
    job = with_tensors({"a": ("inputs", lambda _: [nan, nan])}, 3, at=range(3))
    assert check(job, setting="classic").triggered == 0
    assert check(job, setting="classic", equal_nan=True).triggered == 1


@pytest.mark.parametrize("setting", ["calibrated", "classic"])
def test_a_selected_tensor_is_compared_whatever_the_others_do(setting: str) -> None:
    tensors: dict[str, tuple[str, Values]] = {"a": ("inputs", still), "b": ("inputs", moving)}
    job = with_tensors(tensors, 100)
    assert (
        check(job, setting=setting, collection_names=("inputs",)).episodes[0].finding.tensor == "a"
    )
    assert check(job, setting=setting, tensor_regex="^b$").episodes == ()
    assert check(job).episodes == ()
