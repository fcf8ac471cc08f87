"""Overfit: planted faults and their healthy twins."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_evaluations, with_losses

SEEDS = range(5)


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("Overfit", **parameters)["Overfit"]


def falling(step: int, to: float = 0.01, by: float = 100.0) -> float:
    return to + 2.3 * float(np.exp(-step / by))


@pytest.mark.parametrize("seed", SEEDS)
def test_rising_validation_loss_is_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def turning(step: int) -> float:
        return (falling(step, 1.0) + step / 400) * (1 + 0.03 * rng.standard_normal())

    [episode] = check(with_evaluations(falling, turning, 40)).episodes
    assert episode.is_open
    assert "while the training loss went from" in episode.finding.message
    assert 100 < float(str(episode.finding.evidence["best_step"])) < 350


@pytest.mark.parametrize("seed", SEEDS)
def test_overfitting_in_a_second_phase_is_reported(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def validation(step: int) -> float:
        if step < 800:
            return (0.75 + 1.4 * float(np.exp(-step / 300))) * (1 + 0.02 * rng.standard_normal())
        return 0.86 + 0.1 * (step - 800) / 800

    def training(step: int) -> float:
        return 0.8 + 1.3 * float(np.exp(-step / 300)) if step < 800 else 0.01

    [episode] = check(with_evaluations(training, validation, 40, 40)).episodes
    assert episode.is_open


HEALTHY: dict[str, Callable[[int], float]] = {
    "validation follows training": lambda step: 1.2 * falling(step, 0.1),
    "a large gap that stays": lambda step: falling(step, 0.8),
    "both near zero, validation rises slowly": lambda step: falling(step) + step / 20_000,
    "validation is better": lambda step: 0.8 * falling(step),
    "flat": lambda _: 2.3,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_losses_are_not_reported(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    job = with_evaluations(
        lambda step: falling(step) * (1 + 0.1 * rng.standard_normal()),
        lambda step: HEALTHY[name](step) * (1 + 0.05 * rng.standard_normal()),
        40,
    )
    result = check(job)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_diverging_training_is_not_reported() -> None:
    job = with_evaluations(
        lambda step: falling(step) + max(0, step - 400) / 50,
        lambda step: falling(step) + max(0, step - 400) / 30,
        40,
    )
    assert check(job).episodes == ()


def test_memorization_test_on_one_batch_is_not_reported() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(400):
        worker.observation("batch-hash", "input", step, value=17)
        worker.scalar("loss", step, falling(step)).step(step, {"forward": 0.1})
        if step % 20 == 19:
            worker.scalar("loss", step // 20, 2.3 + step / 100, mode="eval")
            worker.step(step // 20, {"forward": 0.1}, mode="eval")
    worker.flush()
    result = check(job.end())
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


def test_losses_reported_late_by_a_device_belong_to_their_evaluation() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(40):
        worker.scalar("loss", step, 1.0).step(step, {"forward": 0.1})
        if step % 20 == 2:  # two training steps after the evaluation
            for batch in range(3):
                worker.scalar("loss", step // 20 * 3 + batch, 3.0, mode="eval")
        for batch in range(3 if step % 20 == 0 else 0):
            worker.step(step // 20 * 3 + batch, {"forward": 0.05}, mode="eval")
    worker.flush()
    [episode] = check(job.end(), setting="classic").episodes
    assert (episode.triggered, episode.first_step, episode.last_step) == (2, 0, 20)


def test_few_evaluations_are_not_enough_data() -> None:
    result = check(with_evaluations(falling, falling, 3))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 3 of 5 evaluations. Evaluate more often"


def test_job_without_evaluations_is_not_enough_data() -> None:
    result = check(with_losses([falling(step) for step in range(100)]))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 0 of 5 evaluations. Evaluate more often"


def test_classic_setting_follows_the_documented_criterion() -> None:
    validation = [1.0, 1.2, 1.05, 1.3, 1.4, 1.0]
    job = with_evaluations(lambda _: 1.0, lambda step: validation[step // 20], 6)
    result = check(job, setting="classic")
    assert result.triggered == 3  # 1.2, 1.3 and 1.4; 1.05 is within 10%
    assert [(episode.first_step, episode.last_step) for episode in result.episodes] == [
        (39, 39),
        (79, 99),
    ]
    assert check(job, setting="classic", patience=2).triggered == 1
    assert check(job, setting="classic", start_step=60).triggered == 2
    assert check(job, setting="classic", ratio_threshold=0.35).triggered == 1


def test_an_expression_selects_the_compared_losses() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        for name in ("loss", "auxiliary"):
            worker.scalar(name, step, 1.0)
        worker.step(step, {"forward": 0.1})
        if step % 20 == 19:
            worker.scalar("loss", step // 20, 1.0, mode="eval")
            worker.scalar("auxiliary", step // 20, 2.0, mode="eval")
            worker.step(step // 20, {"forward": 0.05}, mode="eval")
    worker.flush()
    job.end()
    assert check(job, setting="classic", tensor_regex="^auxiliary$").triggered == 3
    assert check(job, setting="classic", tensor_regex="^loss$").triggered == 0
