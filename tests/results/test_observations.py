"""Queries for observations of a job."""

from tests.fakes.job import FakeJob


def test_observations_can_be_filtered_by_kind() -> None:
    fake = FakeJob()
    for rank in range(2):
        worker = fake.worker(rank, world_size=2).observation("unowned-parameter", "head.weight", 6)
        worker.observation("batch-hash", "input", 7).flush()
    job = fake.job()
    table = job.observations("unowned-*").to_arrow()
    assert table.select(["kind", "subject", "worker", "step"]).to_pylist() == [
        {"kind": "unowned-parameter", "subject": "head.weight", "worker": rank, "step": 6}
        for rank in range(2)
    ]
    assert len(job.observations(worker=1)) == 2
    lines = repr(job.observations()).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["batch-hash", "input", "2", "7–7"],
        ["unowned-parameter", "head.weight", "2", "6–6"],
    ]
    assert repr(job.observations("replica-checksum")) == "No matching observation recorded"


def test_a_job_without_workers_has_no_observations() -> None:
    assert len(FakeJob().job().observations()) == 0
