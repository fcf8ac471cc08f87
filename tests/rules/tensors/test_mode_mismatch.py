"""ModeMismatch: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

WRONG = {"train": "eval", "eval": "train"}


def check(job: FakeJob) -> Evaluation:
    return job.job().check("ModeMismatch")["ModeMismatch"]


def observe(worker: FakeWorker, mode: str, step: int, is_in: str = "", count: float = 2.0) -> None:
    detail = {"is": is_in, "modules": ["bn", "drop"]} if is_in else ""
    worker.observation("module-mode", "Net", step, detail, mode=mode, value=count)


def trained(
    at: int | None, *, is_in: str = "eval", count: float = 2.0, over_at: int | None = None
) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        if step == at:
            observe(worker, "train", step, is_in, count)
        if step == over_at:
            observe(worker, "train", step, count=0.0)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def evaluated(
    batches: int, *, is_in: str = "train", with_loss: bool = False, steps: int = 60
) -> FakeJob:
    """Train with an evaluation of some batches after every 20 steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.step(step, {"forward": 0.1})
        for batch in range(batches if step % 20 == 19 else 0):
            number = step // 20 * batches + batch
            if number == 0:
                observe(worker, "eval", number, is_in)
            if with_loss:
                worker.scalar("loss", number, 1.0, mode="eval")
            worker.step(number, {"forward": 0.01}, mode="eval")
    worker.flush()
    return job.end()


def test_training_in_eval_mode_is_reported_from_its_first_step() -> None:
    [episode] = check(trained(20)).episodes
    assert episode.first_step == 20
    assert episode.is_open
    assert "Net trains in eval mode since step 20" in episode.finding.message
    assert episode.finding.evidence["modules"] == ["bn", "drop"]


def test_finding_is_resolved_when_the_mode_is_right_again() -> None:
    [episode] = check(trained(0, over_at=30)).episodes
    assert not episode.is_open


def test_evaluation_in_train_mode_is_reported() -> None:
    [episode] = check(evaluated(5)).episodes
    assert "Net is evaluated in train mode since step 19" in episode.finding.message
    assert episode.first_step == 19


def test_evaluation_of_one_batch_with_a_loss_is_reported() -> None:
    assert check(evaluated(1, with_loss=True)).episodes


def train_in_eval_mode(*later: str, before: tuple[str, ...] = ("bn", "drop", "head")) -> Evaluation:
    """Train in eval mode from step 20 on; modules with gradients before and after that."""
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        if step == 20:
            observe(worker, "train", step, "eval")
        if step in (0, 20, 21, 40):
            for module in before if step < 20 else later:
                worker.add_tensor(f"gradient/{module}.weight", "gradients")
                worker.statistics(f"gradient/{module}.weight", step, [0.1, -0.2])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return check(job.end())


def test_new_head_on_a_frozen_model_in_eval_mode_is_not_reported() -> None:
    assert train_in_eval_mode("head").episodes == ()


def train_backbone_in_eval_mode(*trained: str) -> Evaluation:
    """Train in eval mode from the start; modules with gradients."""
    job = FakeJob()
    worker = job.worker()
    for step in range(40):
        if step == 0:
            detail = {"is": "eval", "modules": ["body.bn", "body.drop"]}
            worker.observation("module-mode", "Net", step, detail, mode="train", value=2.0)
        if step in (0, 1, 20):
            for module in trained:
                worker.add_tensor(f"gradient/{module}.weight", "gradients")
                worker.statistics(f"gradient/{module}.weight", step, [0.1, -0.2])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return check(job.end())


def test_backbone_frozen_from_the_start_in_eval_mode_is_not_reported() -> None:
    assert train_backbone_in_eval_mode("head").episodes == ()
    assert train_backbone_in_eval_mode("head", "body.last").episodes


@pytest.mark.parametrize(
    "result",
    [
        train_in_eval_mode("head", "bn"),  # an affected module still learns
        train_in_eval_mode(),  # no gradients recorded since
        train_in_eval_mode("head", before=("bn", "head")),  # unknown: dropout has no gradients
    ],
)
def test_eval_mode_is_reported_if_affected_modules_may_learn(result: Evaluation) -> None:
    [episode] = result.episodes
    assert episode.first_step == 20


def test_occasional_sample_generation_is_not_reported() -> None:
    assert check(evaluated(1)).episodes == ()


@pytest.mark.parametrize(
    "job",
    [
        trained(None),
        trained(0, is_in="train"),  # frozen batch normalization
        trained(0, count=0.0),  # no mode-dependent modules
        trained(0, over_at=1),
        evaluated(5, is_in="eval"),  # Monte Carlo dropout
        evaluated(20, steps=20),  # statistics of an averaged model, once
    ],
)
def test_intended_modes_are_not_reported(job: FakeJob) -> None:
    result = check(job)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
