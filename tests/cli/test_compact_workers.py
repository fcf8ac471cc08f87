"""`sonde compact` with data of workers."""

from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.fakes.job import FakeJob


def two_nodes(folder: Path) -> FakeJob:
    job = FakeJob(str(folder / "job"), node="node-a").end()
    FakeJob(str(folder / "job"), node="node-b", clock=job.clock).end()
    for rank, node in ((0, "node-a"), (1, "node-b")):
        worker = job.worker(rank, node=node)
        for step in range(3):
            worker.step(step, {"forward": 1.0}).scalar("loss", step, 1.0)
            worker.statistics("w", step, [1.0, 2.0]).flush()
    return job


def live(job: FakeJob, rank: int) -> list[str]:
    return [key for key in job.stored(".frames") if key.startswith(f"workers/{rank}/")]


def test_a_node_seals_what_its_own_workers_have_recorded(tmp_path: Path) -> None:
    job = two_nodes(tmp_path)
    assert run_command_line(["compact", job.backend.uri, "--node", "node-b", "--quiet"]) == 0
    assert live(job, 0)
    assert not live(job, 1)


def test_everything_is_sealed_and_reads_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = two_nodes(tmp_path)
    before = job.job()
    steps = before.steps().to_arrow()
    norms = list(before.tensor("w").reduction("l2_norm"))
    assert run_command_line(["compact", job.backend.uri]) == 0
    assert not live(job, 0) + live(job, 1)
    after = job.job()
    assert after.steps().to_arrow().equals(steps)
    assert list(after.tensor("w").reduction("l2_norm")) == norms
    assert len(after.losses) == 6
