"""Evaluations are merged over workers."""

import pytest

from tests.fakes.evaluations import evaluate
from tests.fakes.job import FakeJob


def test_workers_that_evaluate_shards_give_one_mean_over_all_samples() -> None:
    fake = FakeJob()
    evaluate(fake.worker(0, world_size=2), "validation", 400, 1.0, samples=300).flush()
    evaluate(fake.worker(1, world_size=2), "validation", 400, 2.0, samples=100).flush()

    [evaluation] = fake.job().evaluations

    assert (evaluation.step, evaluation.samples, evaluation.batches) == (400, 400, 4)
    assert evaluation.loss == pytest.approx(1.25)


def test_samples_evaluated_by_all_workers_are_counted_once() -> None:
    fake = FakeJob()
    for rank in range(2):
        evaluate(fake.worker(rank, world_size=2), "validation", 400, 1.5, samples=300).flush()

    [evaluation] = fake.job().evaluations

    assert (evaluation.samples, evaluation.loss) == (300, 1.5)


def test_a_loss_reported_by_the_trainer_on_every_worker_keeps_their_samples() -> None:
    fake = FakeJob()
    for rank, batch_loss in enumerate((1.0, 2.0)):
        worker = fake.worker(rank, world_size=2)
        evaluate(worker, "validation", 2, 1.5, samples=16, batch_loss=batch_loss).flush()

    [evaluation] = fake.job().evaluations

    assert (evaluation.samples, evaluation.loss) == (32, 1.5)


def test_the_status_lists_every_evaluation_in_order() -> None:
    fake = FakeJob()
    worker = fake.worker()
    for step in (100, 200):
        evaluate(worker, "train (evaluated)", step, 0.5)
        evaluate(worker, "validation", step, None, samples=1797, metrics={"accuracy": 0.9})
    worker.flush()

    evaluations = fake.job().summary["evaluations"]

    assert [(evaluation["name"], evaluation["step"]) for evaluation in evaluations] == [
        ("train (evaluated)", 100),
        ("validation", 100),
        ("train (evaluated)", 200),
        ("validation", 200),
    ]
    assert evaluations[3] == {
        "name": "validation",
        "data": "loader at train.py:88",
        "step": 200,
        "samples": 1797,
        "loss": None,
        "metrics": {"accuracy": 0.9},
    }


def test_a_job_without_evaluations_has_an_empty_list() -> None:
    assert FakeJob().job().summary["evaluations"] == []
