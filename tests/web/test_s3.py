"""The web server with jobs in an object store."""

from collections.abc import Iterator

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.s3 import s3_server, use_s3_server
from tests.web.served import OURS, served


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server("team") as port:
        use_s3_server(port, monkeypatch)
        yield "s3://team/jobs"


def test_jobs_in_an_object_store_are_listed_read_and_removed(store: str) -> None:
    clock = FakeClock()
    for name in ("one", "two"):
        job = FakeJob(f"{store}/{name}", clock=clock)
        job.record({"cpu.utilization_percent": [1.0] * 8})
        worker = job.worker().step(0, {"forward": 1.0}).scalar("loss", 0, 2.0)
        worker.seal()
        job.seal()
        job.end()
    client = served(store, clock)
    listed = client.get("/api/jobs").json()
    assert [item["name"] for item in listed["jobs"]] == ["two", "one"]
    assert listed["jobs"][0]["spark"]["values"] == [2.0]
    assert client.get("/api/jobs/one/steps").json()["total"] == 1
    assert client.get("/api/jobs/one/heat").status_code == 200
    assert client.delete("/api/jobs/one", headers=OURS).status_code == 200
    assert client.get("/api/jobs/one").status_code == 404
    assert client.get("/api/jobs").json()["total"] == 1


def test_a_store_that_does_not_respond_is_an_error_with_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_s3_server(9, monkeypatch)  # a port without a server
    answer = served("s3://team/jobs", FakeClock()).get("/api/jobs")
    assert answer.status_code == 503
    assert answer.json()["error"]
