"""The summary of training."""

from sonde.read.jobs import read_job
from sonde.read.training import LastLoss, last_losses
from sonde.read.workers import WorkerReader
from tests.fakes.job import FakeJob


def losses(job: FakeJob) -> dict[str, LastLoss]:
    facts = read_job(job.backend, job.clock.now_ns())
    return last_losses([WorkerReader(job.backend, int(r), facts.lives) for r in facts.workers])


def test_the_last_loss_is_of_a_step_that_all_workers_recorded() -> None:
    job = FakeJob()
    for rank, steps in ((0, 3), (1, 2)):
        worker = job.worker(rank, world_size=2)
        for step in range(steps):
            worker.scalar("loss", step, float(step + 10 * rank)).flush()
    assert losses(job) == {"train": LastLoss(1, 6.0)}


def test_after_a_restart_with_fewer_workers_their_loss_is_complete() -> None:
    job = FakeJob()
    for rank in range(3):
        job.worker(rank, world_size=3).scalar("loss", 0, 9.0).scalar("loss", 1, 9.0).flush()
    job.clock.advance(1)
    for rank in range(2):
        restarted = job.worker(rank, restart=1, world_size=2)
        for step in range(1, 4):
            restarted.scalar("loss", step, 1.0)
        restarted.flush()
    assert losses(job) == {"train": LastLoss(3, 1.0)}


def test_a_job_resumed_from_the_beginning_shows_its_current_loss() -> None:
    job = FakeJob()
    killed = job.worker()
    for step in range(10):
        killed.scalar("loss", step, 9.0)
    killed.flush()
    job.clock.advance(1)
    job.worker(attempt=2).scalar("loss", 0, 3.0).scalar("loss", 1, 2.0).flush()
    assert losses(job) == {"train": LastLoss(1, 2.0)}


def test_each_of_several_optimizers_has_its_loss() -> None:
    job = FakeJob()
    worker = job.worker().scalar("loss/root", 0, 9.0)
    for step in range(3):
        worker.scalar("loss/1", step, 10.0 + step).scalar("loss/0", step, float(step))
    worker.flush()
    result = losses(job)
    assert result == {"train/0": LastLoss(2, 2.0), "train/1": LastLoss(2, 12.0)}
    assert list(result) == [
        "train/0",
        "train/1",
    ]  # sorted by optimizer, not by the order of their steps


def test_logged_losses_are_used_if_the_hook_recorded_none() -> None:
    job = FakeJob()
    worker = job.worker().scalar("loss", 0, 5.0, source="log").flush()
    assert losses(job) == {"train": LastLoss(0, 5.0)}
    worker.scalar("loss", 1, 4.0).scalar("loss", 2, 9.0, source="log").flush()
    assert losses(job) == {"train": LastLoss(1, 4.0)}


def test_a_job_without_losses_has_no_last_loss() -> None:
    job = FakeJob()
    job.worker().scalar("accuracy", 0, 1.0).flush()
    assert losses(job) == {}
