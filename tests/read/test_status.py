"""The status document: every key of the contract, for jobs in any state."""

import json
from typing import Any

import pytest

from sonde.read.jobs import read_job
from sonde.read.status import status_document
from sonde.records.notice import Notice, NoticeKind
from sonde.store.layout import JOB
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob

KEYS = {
    *("job", "state", "attempts", "exit", "exit_code", "start_time", "end_time"),
    *("duration_seconds", "stages", "steps", "nodes", "workers", "overhead", "lost"),
    *("not_collected", "notices", "rules"),
}


def status(job: FakeJob) -> dict[str, Any]:
    now_ns = job.clock.now_ns()
    document = status_document(read_job(job.backend, now_ns), now_ns)
    assert json.loads(json.dumps(document)) == document
    return document


@pytest.mark.parametrize("is_over", [False, True])
def test_every_key_is_there_whether_it_runs_or_not(is_over: bool) -> None:
    job = FakeJob()
    document = status(job.end() if is_over else job)

    assert set(document) >= KEYS
    assert document["state"] == ("completed" if is_over else "running")
    assert document["exit_code"] == (0 if is_over else None)
    assert document["start_time"] == "2023-11-14T22:13:20.000000Z"


def test_what_was_lost_is_told_with_its_time_and_reason() -> None:
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


def test_damage_is_lost_too() -> None:
    job = FakeJob()
    job.backend.write(JOB, flipped(job.backend.read(JOB), 99))

    (lost,) = status(job)["lost"]

    assert lost["reason"] == "damaged"
    assert "job.json is damaged" in lost["what"]


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        (NoticeKind.NOT_COLLECTED, "not_collected"),
        (NoticeKind.SWITCHED_OFF, "not_collected"),
        (NoticeKind.CHANGED, "notices"),
        (NoticeKind.CLOCK_JUMPED, "notices"),
    ],
)
def test_other_notices_are_in_their_places(kind: NoticeKind, place: str) -> None:
    job = FakeJob()
    job.writer.notice(kind, "something", "because")

    document = status(job.flush())

    (said,) = document[place]
    assert said["what"] == "something"
    assert document["lost"] == []
