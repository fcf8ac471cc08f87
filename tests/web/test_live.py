"""Live events: changes since a cursor, with one poll shared by all listeners."""

import asyncio
import gc
import json
import weakref
from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from sonde.records.finding import Finding, Severity
from sonde.records.request import RequestKind
from sonde.store.backends.memory import Memory
from sonde.store.control import send_request
from sonde.web.library import Library
from sonde.web.live import Feed, Feeds
from sonde.web.live_updates import Event, Snapshot, take_snapshot
from sonde.web.shared_job import SharedJob
from tests.fakes.eventually import eventually
from tests.fakes.job import FakeJob
from tests.fakes.stores import write_findings
from tests.web.served import served_job


def opened(job: FakeJob) -> SharedJob:
    store, _, name = job.backend.uri.rpartition("/")
    return Library(store, job.clock).job(name)


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


def running() -> FakeJob:
    """Return a job that is running."""
    return FakeJob().record({"cpu.utilization_percent": [1.0, 2.0]})


def test_a_new_listener_gets_everything_once() -> None:
    snapshot = take_snapshot(opened(running()))
    events = snapshot.updates("")
    assert kinds(events) == ["status", "steps", "findings", "samples"]
    assert [event.id for event in events] == ["", "", "", snapshot.cursor]
    assert snapshot.updates(snapshot.cursor) == []


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "1-2-3", "-1-a-b-c", "9" * 400, "0-a-b-c-d", "\n", "9" * 5000 + "-a-b-c"],
)
def test_an_invalid_cursor_returns_everything(cursor: str) -> None:
    assert len(take_snapshot(opened(running())).updates(cursor)) == 4


def test_only_new_events_follow_a_cursor() -> None:
    job = running()
    shown = opened(job)
    cursor = take_snapshot(shown).cursor
    job.record({"cpu.utilization_percent": [3.0, 4.0]})
    (samples,) = take_snapshot(shown).updates(cursor)
    assert samples.kind == "samples"
    assert samples.data["to"] - samples.data["from"] == pytest.approx(1.0)


def test_new_steps_are_sent_with_their_total() -> None:
    job = running()
    worker = job.worker().step(0, {"forward": 0.1}).flush()
    shown = opened(job)
    cursor = take_snapshot(shown).cursor
    worker.step(1, {"forward": 0.5}).step(2, {"forward": 0.5}).flush()
    events = {update.kind: update.data for update in take_snapshot(shown).updates(cursor)}
    assert events["steps"]["steps"] == {"train": 3}


def test_a_new_finding_is_sent_with_the_counts_by_severity() -> None:
    job = running()
    shown = opened(job)
    cursor = take_snapshot(shown).cursor
    write_findings(job.backend, [Finding("LossSpike", Severity.CRITICAL, "It jumped.")])
    (event,) = take_snapshot(shown).updates(cursor)
    assert event.kind == "findings"
    assert event.data["counts"] == {"critical": 1}
    assert event.data["findings"][0]["message"] == "It jumped."


def test_the_end_of_a_job_is_sent_as_its_status() -> None:
    job = running()
    shown = opened(job)
    cursor = take_snapshot(shown).cursor
    job.clock.advance(5)
    job.end()
    job.clock.advance(5)
    events = {update.kind: update.data for update in take_snapshot(shown).updates(cursor)}
    assert events["status"]["state"] == "completed"


def test_an_event_is_one_block_even_with_line_breaks_in_texts() -> None:
    event = Event("status", {"message": "a\n\ndata: b\r\u2028c", "nan": float("nan")}, "7")
    text = event.encoded().decode()
    assert text.startswith("event: status\nid: 7\ndata: ")
    assert text.count("\n") == 4
    assert json.loads(text.split("data: ", 1)[1]) == {
        "message": "a\n\ndata: b\r\u2028c",
        "nan": None,
    }


class FakePoll:
    """Poll a job that gets new samples before every poll."""

    def __init__(self) -> None:
        self.count = 0
        self.passed = asyncio.Semaphore(0)

    def __call__(self) -> Snapshot:
        self.count += 1
        return Snapshot(
            self.count, self.count, {name: {} for name in ("status", "steps", "findings")}
        )

    async def pause(self) -> None:
        await self.passed.acquire()


async def next_of(events: AsyncIterator[bytes]) -> str:
    return (await asyncio.wait_for(anext(events), 20)).decode()


def test_listeners_share_one_poll_which_stops_when_they_leave() -> None:
    async def listen() -> None:
        polls = FakePoll()
        feed = Feed(polls, polls.pause)
        first, second = feed.updates(""), feed.updates("")
        replies = [await next_of(first), await next_of(second)]
        assert replies[0] == replies[1]
        assert polls.count == 1
        polls.passed.release()
        assert "event: samples" in await next_of(first)
        assert "event: samples" in await next_of(second)
        assert polls.count == 2
        assert feed.listeners == 2
        await first.aclose()
        await second.aclose()
        assert feed.listeners == 0
        polls.passed.release()
        await asyncio.sleep(0)
        assert polls.count == 2

    asyncio.run(listen())


def test_a_returning_listener_gets_only_new_events() -> None:
    async def listen() -> None:
        polls = FakePoll()
        feed = Feed(polls, polls.pause)
        first = feed.updates("")
        text = await next_of(first)
        cursor = text.split("id: ")[1].split("\n")[0]
        await first.aclose()
        repeated = feed.updates(cursor)  # the next poll finds one more sample
        text = await next_of(repeated)
        assert "event: status" not in text
        assert "event: samples" in text
        await repeated.aclose()

    asyncio.run(listen())


def test_a_failed_poll_is_retried() -> None:
    async def listen() -> None:
        polls = FakePoll()

        def sometimes() -> Snapshot:
            snapshot = polls()
            if polls.count == 1:
                raise OSError("the store does not answer")
            return snapshot

        feed = Feed(sometimes, polls.pause)
        events = feed.updates("")
        polls.passed.release()
        assert "event: status" in await next_of(events)
        await events.aclose()

    asyncio.run(listen())


def test_an_unknown_job_has_no_events() -> None:
    client = served_job(running())
    answer = client.get("/api/jobs/nobody/events")
    assert (answer.status_code, "error" in answer.json()) == (404, True)


def test_a_pending_request_does_not_change_the_sampling_status() -> None:
    job = running()
    send_request(job.backend, job.clock, RequestKind.SET, {"monitoring": "off"})
    assert take_snapshot(opened(job)).sections["status"]["is_monitoring"] is True


def test_a_feed_does_not_keep_a_forgotten_job_in_memory() -> None:
    job = running()
    store, _, name = job.backend.uri.rpartition("/")
    library = Library(store, job.clock)
    job_reference = weakref.ref(library.job(name))
    feeds = Feeds(library)
    scope = {"type": "http", "path_params": {"job": name}, "headers": [], "query_string": b""}
    asyncio.run(feeds.endpoint(Request(scope)))
    library.forget(name)
    # the thread that opened the job may still be exiting
    assert eventually(lambda: gc.collect() >= 0 and job_reference() is None)


@pytest.mark.parametrize(("poll_seconds", "expected"), [(0.25, 1.0), (5.0, 5.0)])
def test_polls_follow_the_interval_of_the_store_but_not_below_a_second(
    monkeypatch: pytest.MonkeyPatch, poll_seconds: float, expected: float
) -> None:
    job, pauses = running(), asyncio.Queue[float]()
    monkeypatch.setattr(Memory, "poll_seconds", poll_seconds)
    store, _, name = job.backend.uri.rpartition("/")
    library = Library(store, job.clock)

    async def sleep(seconds: float) -> None:
        await pauses.put(seconds)
        await asyncio.Event().wait()

    async def listen() -> None:
        scope = {"type": "http", "path_params": {"job": name}, "headers": [], "query_string": b""}
        answer = await Feeds(library, sleep).endpoint(Request(scope))
        assert isinstance(answer, StreamingResponse)
        events = cast("AsyncGenerator[bytes, None]", answer.body_iterator)
        assert "event: samples" in await next_of(events)
        assert await asyncio.wait_for(pauses.get(), 20) == expected
        await events.aclose()

    asyncio.run(listen())
