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


def judged(job: FakeJob, **parameters: object) -> Evaluation:
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


def test_a_weight_that_stays_while_others_learn_is_found() -> None:
    [episode] = judged(trained({"body": moving, "head": still})).episodes
    assert episode.finding.tensor == "head"
    assert (episode.first_step, episode.is_open) == (0, True)


HEALTHY: dict[str, dict[str, Values]] = {
    "all of them move": {"a": moving, "b": moving},
    "all of them stay": {"a": still, "b": still},
    "one waits for its warm-up": {
        "a": moving,
        "b": lambda step: BEGIN if step < 20 else moving(step),
    },
    "one moves very little": {"a": moving, "b": lambda step: BEGIN + 1e-7 * step * MOVES},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_weights_are_left_alone(name: str) -> None:
    result = judged(trained(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_weight_without_a_gradient_is_frozen_on_purpose() -> None:
    assert judged(trained({"a": moving, "b": still}, gradient=0.0)).episodes == ()


def test_a_head_that_is_trained_in_a_later_phase_is_left_alone() -> None:
    tensors: dict[str, tuple[str, Values]] = {
        "body": ("weights", moving),
        "gradient/body": ("gradients", lambda _: MOVES),
        "head": ("weights", lambda step: BEGIN if step <= 130 else moving(step)),
        "gradient/head": ("gradients", lambda step: (step >= 130) * MOVES),
    }
    assert judged(with_tensors(tensors, 200)).episodes == ()


def test_a_learning_rate_of_nought_is_a_wish() -> None:
    assert judged(trained({"a": moving, "b": still}, rate=0.0)).episodes == ()


def test_two_looks_are_not_enough() -> None:
    result = judged(with_tensors({"a": ("weights", still)}, 2))
    assert result.reason == "Not enough data: 2 of 3 inspections"


def test_classic_is_the_criterion_to_the_letter() -> None:
    values = [1.0, 1.0, 1.0, 1.0 + 5e-6, 1.1, 1.1]
    job = with_tensors({"a": ("inputs", lambda step: [values[step]])}, 6, at=range(6))
    result = judged(job, setting="classic")
    assert result.triggered == 2  # steps 0–2 and, within rtol, 1–3
    assert judged(job, setting="classic", rtol=1e-7).triggered == 1
    assert judged(job, setting="classic", num_steps=2).triggered == 4


def test_classic_values_that_are_no_numbers_are_equal_if_somebody_says_so() -> None:
    job = with_tensors({"a": ("inputs", lambda _: [nan, nan])}, 3, at=range(3))
    assert judged(job, setting="classic").triggered == 0
    assert judged(job, setting="classic", equal_nan=True).triggered == 1
