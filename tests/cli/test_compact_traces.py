"""`sonde compact` with pending profiler traces."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.read.profiles import operations_of
from sonde.read.workers import WorkerLife, WorkerReader
from sonde.store import layout
from tests.fakes.job import FakeJob


def job_with_traces(folder: Path) -> FakeJob:
    """Two nodes with a worker each, and an operator in the trace of each."""
    job = FakeJob(str(folder / "job"), node="node-a")
    FakeJob(str(folder / "job"), node="node-b", clock=job.clock)
    for rank, node in ((0, "node-a"), (1, "node-b")):
        worker = job.worker(rank, node=node).step(0, {"forward": 1.0}).flush()
        key = layout.profile_key(rank, "operators", 5, "abcd")
        operator = {"ph": "X", "cat": "cpu_op", "name": f"op{rank}", "pid": 1, "tid": 1}
        event = {**operator, "ts": worker.clock.now_ns() / 1000, "dur": 5}
        job.backend.write(key + layout.TRACE_SUFFIX, json.dumps([event]).encode())
        job.backend.write(key + layout.TRACE_FACTS_SUFFIX, b"{}")
    return job


def names(job: FakeJob, rank: int) -> list[str]:
    life = WorkerLife(job.worker(rank).info)
    result: list[str] = operations_of(WorkerReader(job.backend, rank, [life]))["name"].to_pylist()
    return result


def test_a_node_decodes_the_traces_of_its_own_workers(tmp_path: Path) -> None:
    job = job_with_traces(tmp_path)
    command = ["compact", job.backend.uri, "--node", "node-b", "--traces", "--quiet"]
    assert run_command_line(command) == 0
    assert names(job, 0) == []
    assert names(job, 1) == ["op1"]
    assert len(job.stored(".facts.json")) == 1
    assert not job.stored(".parquet")


def test_pending_traces_are_decoded_and_then_sealed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with_traces(tmp_path)
    job.end()
    assert run_command_line(["compact", job.backend.uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["traces_decoded"] == 2
    assert names(job, 0) + names(job, 1) == ["op0", "op1"]
    assert not job.stored(".facts.json")
    assert any("/operations/" in key for key in job.stored(".parquet"))


def test_number_of_decoded_traces_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with_traces(tmp_path)
    assert run_command_line(["compact", job.backend.uri]) == 0
    assert "2 traces decoded" in capsys.readouterr().out
    assert run_command_line(["compact", job.backend.uri]) == 0
    assert "decoded" not in capsys.readouterr().out


def test_the_rules_process_decodes_the_last_traces_of_its_node(tmp_path: Path) -> None:
    job = job_with_traces(tmp_path)
    job.end()
    words = (job.backend.uri, "--attempt", "node-a/1", "--rules", "LossNotDecreasing")
    subprocess.run([sys.executable, "-m", "sonde", "follow", *words], check=True)
    assert (names(job, 0), names(job, 1)) == (["op0"], [])
