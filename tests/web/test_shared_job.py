"""A job shared by several threads: every reply is consistent."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sonde.errors import JobNotFoundError
from tests.fakes.job import FakeJob
from tests.web.api_client import ApiClient
from tests.web.test_live import opened


def test_concurrent_requests_get_complete_replies_while_a_job_grows() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [1.0] * 4})
    worker = job.worker().step(0, {"forward": 0.1}).flush()
    client, growing = ApiClient(job), threading.Lock()

    def query(number: int) -> int:
        if number % 8 == 0:
            with growing:
                job.record({"cpu.utilization_percent": [1.0] * 4}, every_seconds=0.1)
                worker.step(number + 1, {"forward": 0.1}).flush()
        frame = client.frame("series", keys="cpu.utilization_percent")
        client.frame("spans")
        client.document("steps")
        assert len(frame["x"]) == len(frame["series"][0]["parts"]["mean"])
        return len(frame["x"])

    with ThreadPoolExecutor(4) as pool:
        lengths = list(pool.map(query, range(48)))
    assert max(lengths) <= 4 * 7
    job.clock.advance(1)
    assert client.document("steps")["total"] == 7


def test_a_recent_result_is_not_computed_again() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [1.0] * 2}).end()
    shown = opened(job)
    calls: list[int] = []
    for _ in range(3):
        shown.cached("something", 1.0, lambda: calls.append(1))
    assert calls == [1]


def test_a_resumed_job_is_read_again() -> None:
    job = FakeJob().record({"cpu.utilization_percent": [1.0] * 2}).end()
    shown = opened(job)
    before = shown.revision
    job.clock.advance(600)
    assert shown.revision == before
    FakeJob(job.backend.uri, "node-b", job.clock)
    job.clock.advance(600)
    assert shown.revision != before
    assert shown.facts.nodes == ("node-a", "node-b")


def test_a_removed_job_is_gone_and_its_name_can_be_reused() -> None:
    job = FakeJob()
    for step in range(3):
        job.worker().step(step, {"forward": 0.1}).flush()
    client = ApiClient(job.end())
    assert client.document("steps")["total"] == 3
    job.backend.erase()
    job.clock.advance(600)
    with pytest.raises(JobNotFoundError):
        client.document("steps")
    repeated = FakeJob(job.backend.uri, clock=job.clock)
    repeated.worker().step(0, {"forward": 0.1}).flush()
    repeated.end()
    assert client.document("steps")["total"] == 1
    repeated.backend.erase()
    FakeJob(job.backend.uri, clock=job.clock)  # not queried in between
    job.clock.advance(600)
    assert client.document("steps")["total"] == 0
