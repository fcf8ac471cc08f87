"""WeightUpdateRatio: planted faults and their healthy twins."""

from collections.abc import Callable

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
    return job.job().check("WeightUpdateRatio", **parameters)["WeightUpdateRatio"]


def trained(weights: dict[str, Values], gradient: float = 1e-3, steps: int = 300) -> FakeJob:
    tensors: dict[str, tuple[str, Values]] = {}
    for name, values in weights.items():
        tensors[name] = ("weights", values)
        tensors[f"gradient/{name}"] = ("gradients", lambda _: gradient * MOVES)
    return with_tensors(tensors, steps)


def moving(step: int) -> FloatArray:
    return np.asarray(BEGIN + 1e-3 * step * MOVES)


def test_jumping_weights_are_reported_with_their_name() -> None:
    def jumping(step: int) -> FloatArray:
        return np.asarray(0.05 * BEGIN + (MOVES if step >= 2 else 0.0))

    [episode] = check(trained({"head": jumping, "body": moving})).episodes
    assert episode.finding.tensor == "head"
    assert (episode.first_step, episode.last_step) == (1, 2)
    assert not episode.is_open


@pytest.mark.parametrize(("per_step", "is_reported"), [(0.01, False), (0.03, False), (0.3, True)])
def test_small_weights_jump_only_if_the_update_is_large_for_typical_weights(
    per_step: float, is_reported: bool
) -> None:
    """Embedding tables start at about 0.001; the first Adam steps are many times larger."""

    def table(step: int) -> FloatArray:
        return np.asarray(6e-4 * BEGIN + per_step * min(step, 5) * np.sign(MOVES))

    results = check(trained({"table": table, "body": moving})).episodes
    assert [result.finding.tensor for result in results] == ["table"] * is_reported


def test_jump_between_distant_inspections_is_reported() -> None:
    def jumping(step: int) -> FloatArray:
        return np.asarray(0.05 * BEGIN + (MOVES if step >= 50 else 0.0))

    [episode] = check(trained({"head": jumping, "body": moving})).episodes
    assert (episode.first_step, episode.last_step) == (41, 62)


@pytest.mark.parametrize("at", [(210, 315), (210, 280, 281, 282, 283, 285, 288, 315)])
def test_late_jump_is_reported_with_any_number_of_inspections_around_it(
    at: tuple[int, ...],
) -> None:
    def jumping(step: int) -> FloatArray:
        ever_faster = 0.5 * np.sqrt(max(0, step - 280)) * MOVES
        return np.asarray(0.1 * BEGIN + 1e-4 * step * MOVES + ever_faster)

    tensors: dict[str, tuple[str, Values]] = {
        "head": ("weights", jumping),
        "body": ("weights", moving),
    }
    early = (0, 1, 2, 5, 12, 27, 62, 93, 140)
    [episode] = check(with_tensors(tensors, 500, at=(*early, *at, 473))).episodes
    assert episode.finding.tensor == "head"
    assert episode.first_step == at[0]


def test_weights_that_do_not_move_are_reported() -> None:
    still = {"a": lambda _: BEGIN, "b": lambda _: 2 * BEGIN}
    [episode] = check(trained(still)).episodes
    assert "a and 1 more did not move" in episode.finding.message
    assert episode.is_open


@pytest.mark.parametrize(("per_step", "is_reported"), [(1e-9, True), (1e-7, False)])
def test_small_updates_are_measured_per_step_at_any_inspection_interval(
    per_step: float, is_reported: bool
) -> None:
    tensors: dict[str, tuple[str, Values]] = {
        "a": ("weights", lambda step: BEGIN * (1 + per_step * step)),
        "gradient/a": ("gradients", lambda _: 0.1 * MOVES),
    }
    job = with_tensors(tensors, 500, at=(0, 1, 2, 43, 85, 133, 166, 208, 260, 325, 406))
    assert bool(check(job).episodes) is is_reported


HEALTHY: dict[str, dict[str, Values]] = {
    "all weights move": {"a": moving, "b": moving},
    "one is frozen": {"a": moving, "b": lambda _: BEGIN},
    "one starts at zero": {"a": moving, "b": lambda step: 0.1 * step * MOVES},
    "one starts near zero": {"a": moving, "b": lambda step: (1e-5 + 1e-2 * step) * MOVES},
    "they grow over many steps": {"a": lambda step: BEGIN * 1.02**step},
    "one starts small and grows steadily": {
        "a": moving,
        "b": lambda step: BEGIN * 1e-3 * (1 + 3 * step),
    },
    "one grows as it always did": {"a": moving, "b": lambda step: (0.02 + 0.01 * step) * MOVES},
    "one grows faster, but only slightly": {
        "a": moving,
        "b": lambda step: (0.1 + 1e-3 * max(0, step - 150)) * MOVES,
    },
    "they wait for the warm-up": {"a": lambda step: BEGIN if step < 30 else moving(step)},
    "very small updates": {"a": lambda step: BEGIN + 1e-6 * step * MOVES},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_weights_are_not_reported(name: str) -> None:
    result = check(trained(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_still_weights_without_gradients_are_not_reported() -> None:
    assert check(trained({"a": lambda _: BEGIN}, gradient=0.0)).episodes == ()


def test_single_inspection_is_not_enough_data() -> None:
    result = check(trained({"a": moving}, steps=1))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA


def test_classic_setting_follows_the_documented_criterion() -> None:
    norms = [1.0, 12.0, 12.0, 13.0]  # ratios 11, 0, 1/12
    job = with_tensors({"w": ("weights", lambda step: [norms[step]])}, 4, at=range(4))
    result = check(job, setting="classic")
    assert result.triggered == 2
    assert {episode.finding.subject for episode in result.episodes} == {
        "w jumps",
        "w does not change",
    }
    assert result.episodes[0].finding.evidence["ratio"] == pytest.approx(11, rel=1e-6)
    # of two recorded steps before: 11 and 1/12
    assert check(job, setting="classic", num_steps=2).triggered == 1
    assert check(job, setting="classic", num_steps=2, small_threshold=0.1).triggered == 2
