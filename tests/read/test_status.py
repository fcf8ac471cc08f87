"""The status document: every key of the contract, for jobs in any state."""

import json
from typing import Any

import pytest

from sonde.read.jobs import read_job
from sonde.read.status import status_document
from sonde.records.job import Heartbeat, Overhead
from sonde.records.notice import Notice, NoticeKind
from sonde.store.facts import encode_facts
from sonde.store.layout import JOB, attempt_key, worker_key
from sonde.store.report_cost import keep_report_cost
from tests.fakes.clock import FakeClock
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob

KEYS = {
    *("job", "state", "attempts", "exit", "exit_code", "start_time", "end_time"),
    *("duration_seconds", "stages", "steps", "nodes", "workers", "overhead", "lost"),
    *("not_collected", "notices", "rules", "phases", "losses", "runs", "lives"),
}


def status(job: FakeJob) -> dict[str, Any]:
    now_ns = job.clock.now_ns()
    document = dict(status_document(read_job(job.backend, now_ns), now_ns))
    assert json.loads(json.dumps(document)) == document
    return document


@pytest.mark.parametrize("is_over", [False, True])
def test_running_and_finished_jobs_have_all_keys(is_over: bool) -> None:
    job = FakeJob()
    document = status(job.end() if is_over else job)

    assert set(document) >= KEYS
    assert document["state"] == ("completed" if is_over else "running")
    assert document["exit_code"] == (0 if is_over else None)
    assert document["start_time"] == "2023-11-14T22:13:20.000000Z"


def test_lost_data_is_reported_with_time_and_reason() -> None:
    job = FakeJob()
    start_ns = job.clock.now_ns()
    job.writer.report_lost(Notice(NoticeKind.LOST, "system samples", "full", start_ns, start_ns))

    document = status(job.flush())

    assert document["lost"] == [
        {
            "what": "system samples",
            "from": "2023-11-14T22:13:20.000000Z",
            "to": "2023-11-14T22:13:20.000000Z",
            "reason": "full",
        }
    ]


def test_damaged_files_are_listed_as_lost() -> None:
    job = FakeJob()
    job.backend.write(JOB, flipped(job.backend.read(JOB), 99))

    (lost,) = status(job)["lost"]

    assert lost["reason"] == "damaged"
    assert "job.json is damaged" in lost["what"]


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        (NoticeKind.NOT_COLLECTED, "not_collected"),
        (NoticeKind.SWITCHED_OFF, "not_collected"),
        (NoticeKind.CHANGED, "notices"),
        (NoticeKind.CLOCK_JUMPED, "notices"),
    ],
)
def test_other_notices_have_their_own_keys(kind: NoticeKind, index: str) -> None:
    job = FakeJob()
    job.writer.notice(kind, "something", "because")

    document = status(job.flush())

    (texts,) = document[index]
    assert texts["what"] == "something"
    assert document["lost"] == []


def test_equal_notices_of_several_workers_are_listed_once() -> None:
    job = FakeJob()
    for rank in range(3):
        worker = job.worker(rank).notice("activations of encoder.*", "inside a compiled region")
        if rank == 1:
            worker.notice("batch hashes", "too slow")
        worker.flush()
    assert status(job)["not_collected"] == [
        {"what": "activations of encoder.*", "reason": "inside a compiled region"},
        {"what": "batch hashes (worker 1)", "reason": "too slow"},
    ]


def test_overhead_includes_launcher_and_hooks() -> None:
    job = FakeJob()
    assert status(job)["overhead"] is None
    beat = Heartbeat(job.clock.now_ns(), 5.0, Overhead(2.0, 500, 100.0))
    job.backend.write(attempt_key(job.node, 1, "heartbeat"), encode_facts(beat))
    assert status(job)["overhead"]["percent"] == 2.0
    job.worker(0).beat(hook_seconds=1.0, training_seconds=1000.0)
    job.worker(1).beat(hook_seconds=0.5, training_seconds=100.0)
    assert status(job)["overhead"] == {
        "percent": 0.5,
        "hook_percent": 0.5,
        "launcher_percent": 2.0,
        "cpu_seconds": 6.5,
        "bytes_written": 2500,
    }


def test_the_cost_of_reports_is_added_to_that_in_heartbeats() -> None:
    job = FakeJob()
    keep_report_cost(job.backend, FakeClock(1), 7.0)  # of an earlier attempt
    beat = Heartbeat(job.clock.now_ns(), 5.0, Overhead(2.0, 500, 100.0))
    job.backend.write(attempt_key(job.node, 1, "heartbeat"), encode_facts(beat))
    assert status(job)["overhead"]["cpu_seconds"] == 2.0
    keep_report_cost(job.backend, job.clock, 0.5)
    overhead = status(job)["overhead"]
    assert (overhead["cpu_seconds"], overhead["launcher_percent"]) == (2.5, 2.5)


def test_without_reading_events_step_counts_come_from_heartbeats() -> None:
    job = FakeJob()
    job.worker(0).step(0, {}).step(1, {}).beat()
    job.worker(1).step(0, {}).beat()
    document = status(job)
    assert document["steps"] == {"train": 2}
    assert (document["workers"], len(document["lives"])) == (2, 2)


def test_a_document_of_another_worker_is_rejected() -> None:
    job = FakeJob()
    info = job.worker(0).info
    job.backend.write(worker_key(1, 1, 0, "start"), encode_facts(info))
    document = status(job)
    assert len(document["lives"]) == 1
    assert "belongs to another worker" in document["lost"][0]["what"]


def test_the_summary_of_a_job_includes_training() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(2):
        worker.scalar("loss", step, 2.0 - step).step(step, {"forward": 3.0}, rest=1.0)
    worker.flush()
    summary = job.end().job().summary
    assert json.loads(json.dumps(summary)) == summary
    assert summary["steps"] == {"train": 2}
    assert summary["phases"]["train"]["percent"] == {"forward": 75.0, "between": 25.0}
    assert summary["losses"] == {"train": {"step": 1, "value": 1.0}}
    assert summary["stages"]["training_loop"] == {
        "seconds": 8.0,
        "percent": 100.0,
        "start_time": "2023-11-14T22:13:20.000000Z",
        "end_time": "2023-11-14T22:13:28.000000Z",
    }
