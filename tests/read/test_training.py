"""What training has done, in a few numbers."""

from sonde.read.jobs import read_job
from sonde.read.training import LastLoss, last_losses
from sonde.read.workers import WorkerReader
from tests.fakes.job import FakeJob


def losses(job: FakeJob) -> dict[str, LastLoss]:
    facts = read_job(job.backend, job.clock.now_ns())
    return last_losses([WorkerReader(job.backend, int(r), facts.lives) for r in facts.workers])


def test_the_last_loss_is_of_a_step_that_all_workers_have() -> None:
    job = FakeJob()
    for rank, steps in ((0, 3), (1, 2)):
        worker = job.worker(rank, world_size=2)
        for step in range(steps):
            worker.scalar("loss", step, float(step + 10 * rank)).flush()
    assert losses(job) == {"train": LastLoss(1, 6.0)}


def test_fewer_workers_after_a_restart_are_all_there_are() -> None:
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


def test_a_job_that_began_again_from_its_first_step_tells_the_loss_that_it_has_now() -> None:
    job = FakeJob()
    killed = job.worker()
    for step in range(10):
        killed.scalar("loss", step, 9.0)
    killed.flush()
    job.clock.advance(1)
    job.worker(attempt=2).scalar("loss", 0, 3.0).scalar("loss", 1, 2.0).flush()
    assert losses(job) == {"train": LastLoss(1, 2.0)}


def test_where_several_optimizers_step_each_has_its_loss() -> None:
    job = FakeJob()
    worker = job.worker().scalar("loss/root", 0, 9.0)
    for step in range(3):
        worker.scalar("loss/1", step, 10.0 + step).scalar("loss/0", step, float(step))
    worker.flush()
    result = losses(job)
    assert result == {"train/0": LastLoss(2, 2.0), "train/1": LastLoss(2, 12.0)}
    assert list(result) == ["train/0", "train/1"]  # by optimizer, not by who stepped first


def test_what_was_logged_as_a_loss_counts_where_no_hook_saw_one() -> None:
    job = FakeJob()
    worker = job.worker().scalar("loss", 0, 5.0, source="log").flush()
    assert losses(job) == {"train": LastLoss(0, 5.0)}
    worker.scalar("loss", 1, 4.0).scalar("loss", 2, 9.0, source="log").flush()
    assert losses(job) == {"train": LastLoss(1, 4.0)}


def test_without_a_loss_there_is_none() -> None:
    job = FakeJob()
    job.worker().scalar("accuracy", 0, 1.0).flush()
    assert losses(job) == {}
