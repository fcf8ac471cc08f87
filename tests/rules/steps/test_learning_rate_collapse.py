"""LearningRateCollapse: jobs with the fault and similar healthy jobs."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.training import with_losses

Schedule = Callable[[FloatArray], FloatArray]


def evaluate(steps: int, **rates: Schedule) -> Evaluation:
    at = np.arange(steps, dtype=np.float64)
    scalars = {f"learning_rate/{name[1:]}": item(at).tolist() for name, item in rates.items()}
    job = with_losses(np.ones(steps), scalars=scalars)
    return job.job().check("LearningRateCollapse")["LearningRateCollapse"]


COLLAPSED: dict[str, Schedule] = {
    "stepped per batch instead of per epoch": lambda at: 0.1 * 0.1 ** (at // 30),
    "a schedule that is too short": lambda at: np.maximum(0.0, 1e-3 * (1 - at / 300)),
    "exponential": lambda at: 1e-3 * 0.9**at,
    "reduced on plateaus to the minimum": lambda at: np.maximum(1e-3 * 0.1 ** (at // 40), 1e-8),
    "three drops at once": lambda at: 0.1 * 0.1 ** np.minimum(at // 30, 3),
}


@pytest.mark.parametrize("name", COLLAPSED)
def test_a_rate_that_has_fallen_to_nearly_zero_is_found(name: str) -> None:
    [episode] = evaluate(700, _0=COLLAPSED[name]).episodes
    assert episode.is_open
    assert "has been nearly zero since step" in episode.finding.message


def test_the_step_since_which_the_rate_is_low_is_named() -> None:
    [episode] = evaluate(700, _0=COLLAPSED["a schedule that is too short"]).episodes
    assert (episode.first_step, episode.finding.evidence["since_step"]) == (300, 300)


@pytest.mark.parametrize("steps", [700, 740])
def test_steps_without_a_recorded_rate_count(steps: int) -> None:
    rates = COLLAPSED["a schedule that is too short"](np.arange(steps, dtype=np.float64)).tolist()
    recorded = [
        None if step and rates[step - 1] == rate else rate for step, rate in enumerate(rates)
    ]
    job = with_losses(np.ones(steps), scalars={"learning_rate/0": recorded}).job()
    [episode] = job.check("LearningRateCollapse")["LearningRateCollapse"].episodes
    assert episode.is_open
    assert episode.finding.evidence["since_step"] == 300
    assert episode.finding.evidence["steps_without_learning"] == steps - 300


HEALTHY: dict[str, Schedule] = {
    "constant": lambda at: np.full_like(at, 1e-3),
    "cosine to zero": lambda at: 0.05 * (1 + np.cos(np.pi * at / 1000)),
    "linear to zero": lambda at: 1e-3 * (1 - at / 1000),
    "warm-up from zero, then decay": lambda at: np.minimum(at / 300, (1000 - at) / 700) * 1e-3,
    "zero for a long time, then constant": lambda at: np.where(at < 500, 0.0, 1e-3),
    "stairs": lambda at: 0.1 * 0.1 ** (at // 250),
    "cycles that touch zero": lambda at: 0.05 * (1 + np.cos(np.pi * (at % 100) / 99)),
    "one cycle": lambda at: np.where(at < 300, at / 300, np.exp(-(at - 300) / 60)) * 0.1 + 4e-7,
    "always zero": np.zeros_like,
    "three drops in time": lambda at: 0.1 * 0.1 ** np.minimum(at // 250, 3),
    "two drops at once": lambda at: 0.1 * 0.1 ** np.minimum(at // 30, 2),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_schedules_are_not_reported(name: str) -> None:
    result = evaluate(1000, _0=HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_frozen_groups_do_not_count() -> None:
    def frozen(at: FloatArray) -> FloatArray:
        return np.zeros_like(at)

    assert evaluate(700, _0=COLLAPSED["exponential"], _1=frozen).episodes
    assert evaluate(700, _0=HEALTHY["constant"], _1=frozen).episodes == ()


def test_a_single_group_with_a_normal_rate_is_healthy() -> None:
    rates = {"_0": COLLAPSED["exponential"], "_1": HEALTHY["constant"]}
    assert evaluate(700, **rates).episodes == ()
