"""LearningRateCollapse: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.training import with_losses

Schedule = Callable[[FloatArray], FloatArray]


def judged(steps: int, **rates: Schedule) -> Evaluation:
    at = np.arange(steps, dtype=np.float64)
    scalars = {f"learning_rate/{name[1:]}": item(at).tolist() for name, item in rates.items()}
    job = with_losses(np.ones(steps), scalars=scalars)
    return job.job().check("LearningRateCollapse")["LearningRateCollapse"]


COLLAPSED: dict[str, Schedule] = {
    "every batch where epochs were meant": lambda at: 0.1 * 0.1 ** (at // 30),
    "a plan that is too short": lambda at: np.maximum(0.0, 1e-3 * (1 - at / 300)),
    "exponential": lambda at: 1e-3 * 0.9**at,
    "as far as a scheduler goes that waits for a plateau": lambda at: np.maximum(
        1e-3 * 0.1 ** (at // 40), 1e-8
    ),
    "three drops at once": lambda at: 0.1 * 0.1 ** np.minimum(at // 30, 3),
}


@pytest.mark.parametrize("name", COLLAPSED)
def test_a_rate_that_has_fallen_to_nothing_is_found(name: str) -> None:
    [episode] = judged(700, _0=COLLAPSED[name]).episodes
    assert episode.is_open
    assert "has been nearly zero since step" in episode.finding.message


def test_the_step_from_which_on_nothing_is_learned_is_named() -> None:
    [episode] = judged(700, _0=COLLAPSED["a plan that is too short"]).episodes
    assert (episode.first_step, episode.finding.evidence["since_step"]) == (300, 300)


HEALTHY: dict[str, Schedule] = {
    "constant": lambda at: np.full_like(at, 1e-3),
    "cosine to zero": lambda at: 0.05 * (1 + np.cos(np.pi * at / 1000)),
    "linear to zero": lambda at: 1e-3 * (1 - at / 1000),
    "warm-up from zero, then down": lambda at: np.minimum(at / 300, (1000 - at) / 700) * 1e-3,
    "zero for a long time, then on": lambda at: np.where(at < 500, 0.0, 1e-3),
    "stairs": lambda at: 0.1 * 0.1 ** (at // 250),
    "cycles that touch zero": lambda at: 0.05 * (1 + np.cos(np.pi * (at % 100) / 99)),
    "one cycle": lambda at: np.where(at < 300, at / 300, np.exp(-(at - 300) / 60)) * 0.1 + 4e-7,
    "never anything": np.zeros_like,
    "three drops in time": lambda at: 0.1 * 0.1 ** np.minimum(at // 250, 3),
    "two drops at once": lambda at: 0.1 * 0.1 ** np.minimum(at // 30, 2),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_schedules_are_left_alone(name: str) -> None:
    result = judged(1000, _0=HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_groups_that_are_frozen_do_not_count() -> None:
    def frozen(at: FloatArray) -> FloatArray:
        return np.zeros_like(at)

    assert judged(700, _0=COLLAPSED["exponential"], _1=frozen).episodes
    assert judged(700, _0=HEALTHY["constant"], _1=frozen).episodes == ()


def test_one_group_that_goes_on_learning_is_enough() -> None:
    rates = {"_0": COLLAPSED["exponential"], "_1": HEALTHY["constant"]}
    assert judged(700, **rates).episodes == ()
