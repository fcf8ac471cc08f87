"""Importing traces in Chrome's format: spans, instants, counters and skipped events."""

import os
from pathlib import Path

import pytest

from sonde.errors import DamagedError
from tests.fakes.recordings import (
    BASE_NS,
    STREAM,
    Imported,
    imported,
    named,
    span,
    training_step,
    write,
    write_text,
)

MTIME = 1_650_000_000


def test_begin_and_end_events_are_nested_spans(tmp_path: Path) -> None:
    events = [
        {"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 100, "args": {"size": 3}},
        {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 120},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 150},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 200, "args": {"found": 4}},
    ]
    path = write(tmp_path / "trace.json", events)
    outer, inner = imported("chrome-trace", path, tmp_path / "store").operations()
    assert (outer["name"], outer["duration_ns"], outer["self_ns"]) == ("outer", 100_000, 70_000)
    assert (inner["name"], inner["duration_ns"], inner["self_ns"]) == ("inner", 30_000, 30_000)
    assert outer["detail"] == '{"size":3,"found":4}'


def test_a_bare_array_without_a_closing_bracket_is_read(tmp_path: Path) -> None:
    text = '[\n{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2},\n'
    path = write_text(tmp_path / "trace.json", text)
    result = imported("chrome-trace", path, tmp_path / "store")
    assert [row["name"] for row in result.operations()] == ["a"]
    assert not any("is truncated" in remark for remark in result.intake.remarks)


def test_a_truncated_file_is_reported_with_its_position(tmp_path: Path) -> None:
    event = '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}'
    path = write_text(tmp_path / "trace.json", f'{{"traceEvents":[{event},{event[:20]}')
    result = imported("chrome-trace", path, tmp_path / "store")
    assert len(result.operations()) == 1
    assert any("is truncated after 89 bytes" in remark for remark in result.intake.remarks)


def test_a_number_too_large_for_a_float_is_ignored(tmp_path: Path) -> None:
    """Found by `make torture`."""
    huge = "1" + "0" * 400
    events = [
        '{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}',
        f'{{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":{huge}}}',
        f'{{"ph":"C","name":"c","pid":1,"tid":1,"ts":2,"args":{{"v":{huge}}}}}',
    ]
    path = write_text(tmp_path / "trace.json", f'{{"traceEvents":[{",".join(events)}]}}')
    names = [row["name"] for row in imported("chrome-trace", path, tmp_path / "store").operations()]
    assert "a" in names


def test_lanes_have_the_names_of_the_trace(tmp_path: Path) -> None:
    events = [
        named("process_name", "loader", 1),
        named("thread_name", "reader", 1, 5),
        named("process_name", "GPU 1", 2),
        span("read", 0, 10, (1, 5)),
        span("gemm", 0, 10, (2, 7)),
        span("Memcpy HtoD", 20, 10, (2, 8)),
        span("x", 0, 10, (3, 9)),
    ]
    path = write(tmp_path / "trace.json", events)
    result = imported("chrome-trace", path, tmp_path / "store")
    rows = {
        row["name"]: (row["lane"], row["device"], row["category"]) for row in result.operations()
    }
    assert rows == {
        "read": ("loader: reader", "cpu", "operator"),
        "gemm": ("GPU 1: thread 7", "cuda:1", "kernel"),
        "Memcpy HtoD": ("GPU 1: thread 8", "cuda:1", "copy"),
        "x": ("process 3: thread 9", "cpu", "operator"),
    }
    assert result.job.lives[0].info.device == "cuda:1"


def test_counters_become_scalars_of_their_step(tmp_path: Path) -> None:
    events = [
        span("step 3", 100, 100),
        {"ph": "C", "name": "memory", "pid": 1, "ts": 150, "args": {"used": 7, "free": "1.5"}},
        {"ph": "C", "name": "memory", "pid": 1, "ts": 300, "args": {"used": "much"}},
    ]
    path = write(tmp_path / "trace.json", events)
    result = imported("chrome-trace", path, tmp_path / "store")
    rows = result.job.scalars("memory/*").to_arrow().to_pylist()
    reported = {(row["name"], row["step"], row["value"]) for row in rows}
    assert reported == {("memory/used", 3, 7.0), ("memory/free", 3, 1.5)}
    assert dict(+result.intake.left_out) == {"counters without a number": 1}


def test_a_trace_with_only_counters_is_a_job(tmp_path: Path) -> None:
    event = {"ph": "C", "name": "memory", "pid": 1, "ts": 1.65e15, "args": {"used": 7}}
    path = write(tmp_path / "trace.json", [event])
    job = imported("chrome-trace", path, tmp_path / "store").job
    assert len(job.scalars().to_arrow()) == 1
    assert job.summary["start_time"].startswith("2022-04-15")


@pytest.mark.parametrize("name", ["step 7", "train_step 7", "Step#7", "iteration: 7"])
def test_steps_are_recognized_by_name(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "trace.json", [span(name, 100, 50), span("optimizer", 130, 10)])
    [step] = imported("chrome-trace", path, tmp_path / "store").steps()
    assert (step["step"], step["seconds"]) == (7, pytest.approx(50e-6))
    assert step["optimizer"] == pytest.approx(10e-6)


def test_the_number_of_a_step_may_be_an_argument(tmp_path: Path) -> None:
    events = [
        span("step", 100, 50, (1, 1), args={"step": 8}),
        span("forward", 110, 20, (1, 2), args={"step": 8}),
    ]
    path = write(tmp_path / "trace.json", events)
    [step] = imported("chrome-trace", path, tmp_path / "store").steps()
    assert (step["step"], step["forward"]) == (8, pytest.approx(20e-6))


def test_a_trace_with_a_base_time_has_a_date(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", [span("a", 50, 10)], baseTimeNanoseconds=BASE_NS)
    result = imported("chrome-trace", path, tmp_path / "store")
    assert result.job.summary["start_time"] == "2023-11-14T22:13:20.000050Z"
    assert result.intake.remarks == []


def test_asynchronous_spans_and_instants_are_operations(tmp_path: Path) -> None:
    both = {"cat": "net", "id": "0x1", "name": "request", "pid": 1, "tid": 1}
    events = [
        {**both, "ph": "b", "ts": 100},
        {"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 110},
        {**both, "ph": "e", "ts": 180},
    ]
    path = write(tmp_path / "trace.json", events)
    rows = imported("chrome-trace", path, tmp_path / "store").operations()
    assert [(row["name"], row["duration_ns"]) for row in rows] == [("request", 80_000), ("mark", 0)]


def test_skipped_events_are_counted(tmp_path: Path) -> None:
    events = [
        span("a", 0, 10),
        {"ph": "s", "id": 1, "ts": 1},
        {"ph": "f", "id": 1, "ts": 2},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 5},
        {"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 5},
        {"ph": "X", "name": "when?", "pid": 1, "tid": 1, "dur": 5},
        {"ph": "X", "name": "how long?", "pid": 1, "tid": 1, "ts": 3, "dur": -5},
        {"ph": "X", "name": "never", "pid": 1, "tid": 1, "ts": 1e30, "dur": 5},
        {"ph": "Z", "ts": 1},
        {},
    ]
    path = write(tmp_path / "trace.json", events)
    result = imported("chrome-trace", path, tmp_path / "store")
    assert [row["name"] for row in result.operations()] == ["a"]
    assert dict(+result.intake.left_out) == {
        "flow arrows": 2,
        "end events without a beginning": 1,
        "begin events without an end": 1,
        "events without a time": 2,
        "events without a duration": 1,
        "events of kind 'Z'": 1,
    }


def test_a_trace_without_a_date_ends_when_its_file_was_written(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", [span("a", 50, 1_000_000)])
    os.utime(path, (MTIME, MTIME))
    result = imported("chrome-trace", path, tmp_path / "store")
    assert result.job.summary["end_time"] == "2022-04-15T05:20:00.000000Z"
    assert any("no date" in remark for remark in result.intake.remarks)


def test_traces_without_a_date_keep_their_relative_times(tmp_path: Path) -> None:
    for rank, start in enumerate((100, 400)):
        write(tmp_path / "run" / f"rank{rank}.json", [span("a", start, 10)])
    result = imported("chrome-trace", tmp_path / "run", tmp_path / "store")
    [first], [second] = result.operations(0), result.operations(1)
    assert second["start_ns"] - first["start_ns"] == 300_000


def test_a_file_without_spans_is_an_error_with_its_position(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", [named("process_name", "x", 1)])
    with pytest.raises(DamagedError, match=r"trace\.json .*bytes"):
        imported("chrome-trace", path, tmp_path / "store")


def test_an_exported_job_can_be_imported(tmp_path: Path) -> None:
    kernel = span("gemm", 1300, 50, STREAM, cat="kernel", args={"device": 0, "stream": 7})
    events = [*training_step(4, 1000), kernel]
    path = write(tmp_path / "trace.json", events, baseTimeNanoseconds=BASE_NS)
    first = imported("kineto", path, tmp_path / "first")
    first.job.timeline().save(str(tmp_path / "merged.json"))
    restarted = imported("chrome-trace", tmp_path / "merged.json", tmp_path / "again")
    assert _spent(restarted) == pytest.approx(_spent(first), abs=1e-8)
    kernels = [row["device"] for row in restarted.operations() if row["category"] == "kernel"]
    assert kernels == ["cuda:0"]


def _spent(imported: Imported) -> dict[str, float]:
    [step] = imported.steps()
    return {key: value for key, value in step.items() if isinstance(value, float)}
