"""Requests from the dashboard: delivery to the job and its replies."""

import pytest
from starlette.testclient import TestClient

from sonde.records.job import Heartbeat, Overhead
from sonde.records.request import RequestKind
from sonde.store.control import Inbox, worker_name
from sonde.store.facts import encode_facts
from sonde.store.layout import JOB, attempt_key
from tests.fakes.job import FakeJob
from tests.web.served import OURS, served_job


def running() -> FakeJob:
    """Return a running job."""
    job = FakeJob()
    now_ns = job.clock.now_ns()
    beat = Heartbeat(now_ns, 10.0, Overhead(0.0, 0, 0.0), now_ns, 0.5)
    job.backend.write(attempt_key(job.node, 1, "heartbeat"), encode_facts(beat))
    return job


def post(client: TestClient, path: str, body: object) -> dict[str, object]:
    answer = client.post(path, json=body, headers=OURS)
    assert answer.status_code == 202, answer.text
    result: dict[str, object] = answer.json()
    return result


def test_replies_to_a_stop_request_can_be_queried() -> None:
    job = running()
    client, inbox = served_job(job), Inbox(job.backend, job.node)
    sent = post(client, "stop", {})
    assert sent["recipients"] == [job.node]
    (request,) = inbox.new_requests()
    assert (request.kind, request.arguments["grace_seconds"]) == (RequestKind.STOP, "10")
    status = client.get(f"requests/{sent['request']}").json()
    assert (status["replies"], status["waiting"]) == ({}, [job.node])
    inbox.reply(request, job.clock, is_done=True, message="sent SIGTERM")
    status = client.get(f"requests/{sent['request']}").json()
    assert status["waiting"] == []
    assert status["replies"][job.node]["message"] == "sent SIGTERM"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"interval_seconds": 0.1}, {"interval": "100ms"}),
        ({"interval_seconds": 60}, {"interval": "60000ms"}),
        ({"monitoring": False}, {"monitoring": "off"}),
        ({"monitoring": True, "interval_seconds": 1}, {"interval": "1000ms", "monitoring": "on"}),
    ],
)
def test_sampling_settings_are_sent_to_the_job(body: object, expected: dict[str, str]) -> None:
    job = running()
    client, inbox = served_job(job), Inbox(job.backend, job.node)
    post(client, "set", body)
    (request,) = inbox.new_requests()
    assert request.arguments == expected


def test_workers_receive_profile_requests() -> None:
    job = running()
    job.worker(0)
    client, inbox = served_job(job), Inbox(job.backend, worker_name(0))
    sent = post(client, "profile", {"steps": 10, "kinds": ["operators", "python"]})
    assert sent["recipients"] == [worker_name(0)]
    (request,) = inbox.new_requests()
    assert (request.arguments["kinds"], request.arguments["steps"]) == ("operators,python", "10")
    post(client, "profile", {"steps": 1_234_567, "kinds": ["python"]})
    (request,) = inbox.new_requests()
    assert request.arguments["steps"] == "1234567"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("stop", {"grace_seconds": "soon"}),
        ("stop", {"grace_seconds": -1}),
        ("stop", {"grace_seconds": 10**400}),
        ("set", {"interval_seconds": 0.001}),
        ("set", {"interval_seconds": True}),
        ("set", {"color": "red"}),
        ("profile", {"steps": 1, "kinds": []}),
        ("profile", {"steps": 1, "seconds": 1, "kinds": ["python"]}),
        ("profile", {"kinds": ["python"]}),
        ("profile", {"steps": 0, "kinds": ["python"]}),
        ("profile", {"steps": 1, "kinds": [["python"]]}),
        ("profile", {"steps": 1, "kinds": "python"}),
    ],
)
def test_invalid_requests_are_not_sent(path: str, body: object) -> None:
    job = running()
    job.worker(0)
    answer = served_job(job).post(path, json=body, headers=OURS)
    assert (answer.status_code, bool(answer.json()["error"])) == (400, True)
    assert job.stored() == [key for key in job.stored() if not key.startswith("control")]


@pytest.mark.parametrize("path", ["stop", "set", "profile"])
def test_requests_to_a_job_that_has_ended_are_refused(path: str) -> None:
    body = {"stop": {}, "set": {"monitoring": True}, "profile": {"steps": 1, "kinds": ["python"]}}
    answer = served_job(FakeJob().end()).post(path, json=body[path], headers=OURS)
    assert answer.status_code == 409
    assert "is not running" in answer.json()["error"]


def test_a_running_job_is_not_removed() -> None:
    job = running()
    client = served_job(job)
    answer = client.delete(str(client.base_url).rstrip("/"), headers=OURS)
    assert answer.status_code == 400
    assert "Stop it first" in answer.json()["error"]
    assert job.stored("job.json")


def test_an_unknown_request_is_not_found() -> None:
    client = served_job(running())
    assert client.get(f"requests/{'0' * 20}-{'a' * 8}").status_code == 404


def test_a_job_that_was_just_resumed_is_not_removed() -> None:
    job = FakeJob().end()
    client = served_job(job)
    address = str(client.base_url).rstrip("/")
    assert client.get(address).json()["state"] == "completed"
    FakeJob(job.backend.uri, "node-b", job.clock)
    assert client.delete(address, headers=OURS).status_code == 400
    assert job.backend.exists(JOB)
