"""Importing Horovod timelines."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import DamagedError
from tests.fakes.recordings import Event, imported, named, span, write, write_text


def timeline(index: dict[str, Any]) -> list[Event]:
    """Return events of one tensor: rank 1 is ready last, then an allreduce in three phases."""
    return [
        {**index, "ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 100},
        {**index, "ph": "X", "name": "0", "ts": 101, "dur": 0},
        {**index, "ph": "X", "name": "1", "ts": 128, "dur": 0},
        {**index, "ph": "E", "ts": 130},
        {
            **index,
            "ph": "B",
            "name": "ALLREDUCE",
            "ts": 130,
            "args": {"dtype": "float32", "shape": "[10, 20]"},
        },
        {**index, "ph": "B", "name": "MEMCPY_IN_FUSION_BUFFER", "ts": 131},
        {**index, "ph": "E", "ts": 135},
        {**index, "ph": "B", "name": "NCCL_ALLREDUCE", "ts": 135},
        {**index, "ph": "E", "ts": 160},
        {**index, "ph": "E", "ts": 170, "args": {"dtype": "float32", "shape": "[10, 20]"}},
    ]


def unclosed(events: list[Event]) -> str:
    """Encode events as Horovod does: one per line, without a closing bracket."""
    return "[\n" + "".join(f"{json.dumps(item)},\n" for item in events)


def test_tensors_are_negotiated_and_then_processed(tmp_path: Path) -> None:
    events = [named("process_name", "grad/dense", 3), *timeline({"pid": 3})]
    path = write_text(tmp_path / "timeline.json", unclosed(events))
    result = imported("horovod", path, tmp_path / "store")
    rows = result.operations()
    reported = [(row["name"], row["category"], row["duration_ns"], row["self_ns"]) for row in rows]
    assert reported == [
        ("NEGOTIATE_ALLREDUCE", "collective", 30_000, 30_000),
        ("ALLREDUCE", "collective", 40_000, 11_000),
        ("MEMCPY_IN_FUSION_BUFFER", "other", 4_000, 4_000),
        ("NCCL_ALLREDUCE", "other", 25_000, 25_000),
    ]
    assert {row["lane"] for row in rows} == {"grad/dense"}
    assert not +result.intake.left_out


def test_the_last_rank_to_be_ready_is_recorded(tmp_path: Path) -> None:
    path = write_text(tmp_path / "timeline.json", unclosed(timeline({"pid": 3})))
    result = imported("horovod", path, tmp_path / "store")
    negotiation, processing, *_ = (json.loads(row["detail"] or "{}") for row in result.operations())
    assert negotiation == {
        "phase": "negotiation",
        "ready_ns": {"0": 1000, "1": 28_000},
        "last_rank": 1,
    }
    assert processing["phase"] == "processing"
    assert (processing["collective"], processing["elements_in"]) == ("all_reduce", 200)
    assert result.job.lives[0].info.world_size == 2


def test_a_tensor_may_be_a_thread_instead_of_a_process(tmp_path: Path) -> None:
    events = []
    for thread, tensor in enumerate(("a", "b")):
        events += [
            named("thread_name", tensor, 0, thread),
            *timeline({"pid": 0, "tid": thread}),
        ]
    path = write_text(tmp_path / "timeline.json", unclosed(events))
    rows = imported("horovod", path, tmp_path / "store").operations()
    assert {row["lane"] for row in rows} == {"a", "b"}
    assert len(rows) == 8


def test_unfinished_operations_of_a_killed_job_are_reported(tmp_path: Path) -> None:
    events = timeline({"pid": 3})[:-1]
    path = write_text(tmp_path / "timeline.json", unclosed(events) + '{"ph": "B", "na')
    result = imported("horovod", path, tmp_path / "store")
    assert len(result.operations()) == 3
    assert dict(+result.intake.left_out) == {"begin events without an end": 1}


def test_a_trace_of_another_program_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", [span("a", 0, 10)])
    with pytest.raises(DamagedError, match="is not a Horovod timeline"):
        imported("horovod", path, tmp_path / "store")
