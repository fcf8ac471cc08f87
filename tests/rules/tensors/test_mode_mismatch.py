"""ModeMismatch: planted faults and their healthy twins."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

WRONG = {"train": "eval", "eval": "train"}


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("ModeMismatch")["ModeMismatch"]


def texts(worker: FakeWorker, mode: str, step: int, is_in: str = "", count: float = 2.0) -> None:
    detail = {"is": is_in, "modules": ["bn", "drop"]} if is_in else ""
    worker.observation("module-mode", "Net", step, detail, mode=mode, value=count)


def trained(
    at: int | None, *, is_in: str = "eval", count: float = 2.0, over_at: int | None = None
) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        if step == at:
            texts(worker, "train", step, is_in, count)
        if step == over_at:
            texts(worker, "train", step, count=0.0)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def evaluated(
    batches: int, *, is_in: str = "train", with_loss: bool = False, steps: int = 60
) -> FakeJob:
    """An evaluation of so many batches after every twenty steps."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.step(step, {"forward": 0.1})
        for batch in range(batches if step % 20 == 19 else 0):
            number = step // 20 * batches + batch
            if number == 0:
                texts(worker, "eval", number, is_in)
            if with_loss:
                worker.scalar("loss", number, 1.0, mode="eval")
            worker.step(number, {"forward": 0.01}, mode="eval")
    worker.flush()
    return job.end()


def test_a_model_that_trains_in_eval_mode_is_found_where_it_begins() -> None:
    [episode] = judged(trained(20)).episodes
    assert episode.first_step == 20
    assert episode.is_open
    assert "Net trains in eval mode since step 20" in episode.finding.message
    assert episode.finding.evidence["modules"] == ["bn", "drop"]


def test_it_recovers_when_the_mode_is_right_again() -> None:
    [episode] = judged(trained(0, over_at=30)).episodes
    assert not episode.is_open


def test_an_evaluation_in_train_mode_is_found() -> None:
    [episode] = judged(evaluated(5)).episodes
    assert "Net is evaluated in train mode since step 19" in episode.finding.message
    assert episode.first_step == 19


def test_an_evaluation_of_one_batch_has_a_loss() -> None:
    assert judged(evaluated(1, with_loss=True)).episodes


def probed(*later: str, before: tuple[str, ...] = ("bn", "drop", "head")) -> Evaluation:
    """A model in eval mode from step 20 on; which parts get gradients before that, and then."""
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        if step == 20:
            texts(worker, "train", step, "eval")
        if step in (0, 20, 21, 40):
            for section in before if step < 20 else later:
                worker.add_tensor(f"gradient/{section}.weight", "gradients")
                worker.statistics(f"gradient/{section}.weight", step, [0.1, -0.2])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return judged(job.end())


def test_a_new_head_on_a_model_that_is_frozen_may_be_trained_in_eval_mode() -> None:
    assert probed("head").episodes == ()


def in_a_backbone(*fed: str) -> Evaluation:
    """A model that is in eval mode from the beginning, and which parts of it get gradients."""
    job = FakeJob()
    worker = job.worker()
    for step in range(40):
        if step == 0:
            detail = {"is": "eval", "modules": ["body.bn", "body.drop"]}
            worker.observation("module-mode", "Net", step, detail, mode="train", value=2.0)
        if step in (0, 1, 20):
            for section in fed:
                worker.add_tensor(f"gradient/{section}.weight", "gradients")
                worker.statistics(f"gradient/{section}.weight", step, [0.1, -0.2])
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return judged(job.end())


def test_a_backbone_that_was_frozen_from_the_beginning_may_be_in_eval_mode() -> None:
    assert in_a_backbone("head").episodes == ()
    assert in_a_backbone("head", "body.last").episodes


@pytest.mark.parametrize(
    "result",
    [
        probed("head", "bn"),  # one of them still learns
        probed(),  # nobody has looked at gradients since
        probed("head", before=("bn", "head")),  # nobody knows: a dropout has no gradients
    ],
)
def test_it_is_found_where_what_cares_may_learn(result: Evaluation) -> None:
    [episode] = result.episodes
    assert episode.first_step == 20


def test_samples_that_are_drawn_now_and_then_are_no_evaluation() -> None:
    assert judged(evaluated(1)).episodes == ()


@pytest.mark.parametrize(
    "job",
    [
        trained(None),
        trained(0, is_in="train"),  # frozen batch normalization
        trained(0, count=0.0),  # nothing that cares
        trained(0, over_at=1),
        evaluated(5, is_in="eval"),  # Monte Carlo dropout
        evaluated(20, steps=20),  # statistics of an averaged model, once
    ],
)
def test_modes_that_are_meant_so_are_left_alone(job: FakeJob) -> None:
    result = judged(job)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
