"""Decoding of profiler traces into operations."""

import gzip
import json
from collections.abc import Iterable
from typing import Any

import pytest

from sonde.agent.trace_decoding import decode_waiting
from sonde.clock import NANOSECONDS
from sonde.errors import StoreError
from sonde.store import layout
from sonde.store.backends.memory import Memory
from sonde.store.format import NOTICES, OPERATIONS
from sonde.store.reader import FolderReader
from sonde.store.waiting_traces import waiting_traces
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob

KEY = layout.profile_key(0, "operators", 5, "abcd_p1")


def operator(name: str, ts: float, dur: float, cat: str = "cpu_op") -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}


def leave_trace(job: FakeJob, *events: dict[str, Any], key: str = KEY, **facts: Any) -> None:
    document = {"schemaVersion": 1, "traceEvents": list(events)}
    job.backend.write(key + layout.TRACE_SUFFIX, gzip.compress(json.dumps(document).encode()))
    reported = {"anchors": [], "keep_trace": False, "rank": 0, **facts}
    job.backend.write(key + layout.TRACE_FACTS_SUFFIX, json.dumps(reported).encode())


def rows(job: FakeJob, rank: int = 0) -> list[dict[str, Any]]:
    reader = FolderReader(job.backend, layout.worker_folder(rank), OPERATIONS)
    reader.refresh()
    result: list[dict[str, Any]] = reader.rows().to_pylist()
    return result


def notices(job: FakeJob) -> list[dict[str, Any]]:
    reader = FolderReader(job.backend, layout.worker_folder(0), NOTICES)
    reader.refresh()
    result: list[dict[str, Any]] = reader.rows().to_pylist()
    return result


def test_a_trace_becomes_operations_on_the_clock_of_the_job() -> None:
    job = FakeJob()
    now_ns = job.clock.now_ns()
    leave_trace(
        job,
        operator("sonde.anchor.0", 1000, 2, "user_annotation"),
        operator("aten::add", 1501, 10),
        operator("sonde.anchor.1", 2000, 2, "user_annotation"),
        # on the job's clock, twice as much time passed between the anchors
        anchors=[["sonde.anchor.0", now_ns], ["sonde.anchor.1", now_ns + 2_000_000]],
    )
    assert decode_waiting(job.backend, 0, job.clock) == 1
    (row,) = rows(job)
    assert row["name"] == "aten::add"
    assert row["start_ns"] == now_ns + 1_000_000
    assert row["category"] == "operator"
    assert not job.stored(".json.gz")
    assert not list(waiting_traces(job.backend))


def test_a_trace_without_a_clock_begins_with_its_window() -> None:
    job = FakeJob()
    leave_trace(job, operator("aten::add", 7, 1), window={"start_ns": 10**9 * NANOSECONDS})
    decode_waiting(job.backend, 0, job.clock)
    assert rows(job)[0]["start_ns"] == 10**9 * NANOSECONDS


def test_requested_trace_is_kept_and_not_decoded_again() -> None:
    job = FakeJob()
    leave_trace(job, operator("aten::add", 0, 1), keep_trace=True)
    assert decode_waiting(job.backend, 0, job.clock) == 1
    assert decode_waiting(job.backend, 0, job.clock) == 0
    assert job.stored(".json.gz") == [KEY + layout.TRACE_SUFFIX]
    assert len(rows(job)) == 1


def test_a_trace_without_its_facts_is_still_being_written() -> None:
    job = FakeJob()
    leave_trace(job, operator("aten::add", 0, 1))
    job.backend.delete([KEY + layout.TRACE_FACTS_SUFFIX])
    assert decode_waiting(job.backend, 0, job.clock) == 0
    assert job.stored(".json.gz")


def test_facts_without_a_trace_are_removed() -> None:
    job = FakeJob()
    leave_trace(job, operator("aten::add", 0, 1))
    job.backend.delete([KEY + layout.TRACE_SUFFIX])
    assert decode_waiting(job.backend, 0, job.clock) == 0
    assert not list(waiting_traces(job.backend))


def test_profiles_of_other_kinds_are_left_alone() -> None:
    job = FakeJob()
    leave_trace(job, operator("aten::add", 0, 1), key=layout.profile_key(0, "memory", 5, "a"))
    assert decode_waiting(job.backend, 0, job.clock) == 0
    assert job.stored(".facts.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"no trace", gzip.compress(b'{"traceEvents": 3}')],
    ids=["empty", "text", "no events"],  # compressed contents include a time stamp
)
def test_invalid_trace_is_reported_once(content: bytes) -> None:
    job = FakeJob()
    leave_trace(job)
    job.backend.write(KEY + layout.TRACE_SUFFIX, content)
    assert decode_waiting(job.backend, 0, job.clock) == 1
    assert decode_waiting(job.backend, 0, job.clock) == 0
    (notice,) = notices(job)
    assert notice["what"] == "profile operators-0000000005-abcd_p1"
    assert "no trace" in notice["reason"]


def test_truncated_trace_is_decoded_and_reported() -> None:
    job = FakeJob()
    leave_trace(job)
    document = json.dumps({"traceEvents": [operator(f"op{n}", n, 1) for n in range(99)]})
    job.backend.write(KEY + layout.TRACE_SUFFIX, document[:-300].encode())
    decode_waiting(job.backend, 0, job.clock)
    assert 90 < len(rows(job)) < 99
    assert "incomplete" in notices(job)[0]["reason"]


class Dying(Memory):
    """A store that accepts a limited number of changes."""

    changes_left = 0

    def append(self, key: str, offset: int, data: bytes) -> None:
        self._live_on()
        super().append(key, offset, data)

    def delete(self, keys: Iterable[str]) -> None:
        self._live_on()
        super().delete(keys)

    def _live_on(self) -> None:
        if not self.changes_left:
            raise StoreError("no room")
        self.changes_left -= 1


@pytest.mark.parametrize("changes", [0, 1, 2])
def test_process_that_dies_midway_leaves_no_duplicates(
    changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 100
    monkeypatch.setattr("sonde.agent.trace_decoding.BATCH_ROWS", count // 2)
    job = FakeJob()
    leave_trace(job, *(operator("op", 10 * n, 1) for n in range(count)))
    dying = Dying(job.backend.uri)
    dying.changes_left = changes
    with pytest.raises(StoreError, match="no room"):
        decode_waiting(dying, 0, job.clock)
    assert decode_waiting(job.backend, 0, job.clock) == 1
    result = rows(job)
    assert len(result) == count
    assert len({row["start_ns"] for row in result}) == count


def test_two_decoders_of_the_same_trace_write_it_once() -> None:
    job = FakeJob()
    leave_trace(job, operator("aten::add", 0, 1))
    retained = {entry.key: job.backend.read(entry.key) for entry in job.backend.entries("workers")}
    decode_waiting(job.backend, 0, job.clock)
    for key, content in retained.items():
        job.backend.write(key, content)
    decode_waiting(job.backend, 0, FakeClock())
    assert len(rows(job)) == 1
