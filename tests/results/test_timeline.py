"""The timeline of workers and machines, and its export as a trace."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import StoreError, UsageError
from tests.fakes.clock import START_NS, FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.perfetto import check_trace
from tests.fakes.worker import FakeWorker

PHASES = {"data_wait": 0.02, "forward": 0.1, "backward": 0.15}


def profiled(worker: FakeWorker) -> None:
    """Record profiles of all kinds in a step that begins now."""
    worker.span("operators", 0.0, 0.3, 0, "window", lane="profile", detail='{"by":"plan"}')
    worker.operation("aten::mm", "operator", 0.03, 0.05, module="layers.0")
    worker.operation("aten::addmm", "operator", 0.035, 0.01, detail={"shapes": [[2, 3], []]})
    launch = {"lane": "thread 1", "correlation": 7}
    worker.operation("cudaLaunchKernel", "runtime", 0.036, 0.001, **launch)
    device = {"device": "cuda:0", "lane": "stream 7"}
    worker.operation("gemm", "kernel", 0.04, 0.03, correlation=7, **device)
    worker.operation("Memcpy DtoH", "copy", 0.065, 0.02, correlation=8, **device)  # overlaps
    worker.operation("all_reduce", "collective", 0.2, 0.01, lane="collectives", detail="no JSON")
    worker.operation("fetch", "loading", 0.0, 0.04, lane="loader 0")
    worker.operation("fetch", "loading", 0.03, 0.04, lane="loader 0")


def recorded(uri: str = "", offset: float = 0.0) -> FakeJob:
    """Record two workers on two nodes, one with a clock that is ahead; ten steps of 0.3 s each."""
    job = FakeJob(uri, node="left")
    other_clock = FakeClock(START_NS + round(offset * NANOSECONDS))
    second = FakeJob(job.backend.uri, node="right", clock=other_clock)
    for rank, node in enumerate((job, second)):
        worker = FakeWorker(job.backend, node.clock, rank, node=node.node, world_size=2)
        for step in range(10):
            if step == 3:
                profiled(worker)
            worker.step(step, PHASES, rest=0.03)
        worker.flush()
        node.clock.advance(-3.0)
        node.record({"cpu.user_percent": range(6), "gpu.power_watts/gpu0": [float("nan")] * 6})
        node.end()
    return job


def trace_of(job: FakeJob, path: Path, **choice: Any) -> dict[str, Any]:
    target = job.job().timeline(**choice).save(path)
    data = target.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    document: dict[str, Any] = json.loads(text)
    check_trace(document)
    return document


def named(document: dict[str, Any], kind: str) -> set[str]:
    events = document["traceEvents"]
    return {
        event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == kind
    }


def test_a_trace_contains_everything_recorded_and_is_valid(tmp_path: Path) -> None:
    document = trace_of(recorded(), tmp_path / "merged.json")
    assert named(document, "process_name") == {
        *("left: machine", "right: machine", "worker 0 (left)", "worker 1 (right)"),
    }
    assert named(document, "thread_name") == {
        *("steps", "phases", "profile windows", "thread 1", "collectives"),
        *("cuda:0 stream 7", "cuda:0 stream 7 (2)", "loader 0", "loader 0 (2)"),
    }
    events = document["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    assert {counter["name"] for counter in counters} == {"cpu.user_percent"}, (
        "what is unknown is left out"
    )
    assert [counter["args"]["percent"] for counter in counters] == [*range(6), *range(6)]
    assert {"step 0", "step 9"} <= {event["name"] for event in events}
    [operator, _] = [event for event in events if event["name"] == "aten::mm"]
    assert operator["args"] == {"step": 3, "module": "layers.0"}
    [reduced, _] = [event for event in events if event["name"] == "all_reduce"]
    assert reduced["args"] == {"step": 3, "detail": "no JSON"}
    assert len([event for event in events if event["ph"] == "s"]) == 2, "one launch per worker"


def test_slices_have_their_exact_times(tmp_path: Path) -> None:
    document = trace_of(recorded(), tmp_path / "merged.json.gz", worker=0)
    [kernel] = [
        traceEvent for traceEvent in document["traceEvents"] if traceEvent["name"] == "gemm"
    ]
    assert (int(kernel["ts"] * 1000), int(kernel["dur"] * 1000)) == (940_000_000, 30_000_000)
    assert document["otherData"]["start"] == "2023-11-14T22:13:20.000000Z"


def test_a_range_of_steps_excludes_other_steps(tmp_path: Path) -> None:
    document = trace_of(recorded(), tmp_path / "merged.json", start_step=3, end_step=5)
    steps = [
        traceEvent for traceEvent in document["traceEvents"] if traceEvent.get("cat") == "step"
    ]
    assert {step["args"]["step"] for step in steps} == {3, 4}
    assert [traceEvent for traceEvent in document["traceEvents"] if traceEvent["name"] == "gemm"]
    none = trace_of(recorded(), tmp_path / "merged.json", start_step=5, end_step=7)
    assert not [traceEvent for traceEvent in none["traceEvents"] if traceEvent["name"] == "gemm"]


def test_a_time_range_is_in_seconds_since_the_start_of_the_job() -> None:
    table = recorded().job().timeline(start=0.95, end=1.0).to_arrow()
    rows = [row for row in table.to_pylist() if row["worker"] == 0]
    assert {row["name"] for row in rows} >= {"step", "gemm", "aten::mm", "operators"}
    assert "all_reduce" not in {row["name"] for row in rows}


def test_clocks_of_nodes_are_corrected_with_a_known_error(tmp_path: Path) -> None:
    job = recorded(offset=5.0)
    timeline = job.job().timeline(start_step=2, end_step=6)
    first, right = timeline.clocks.nodes
    assert (right.source, right.offset_ns) == ("steps", 5 * NANOSECONDS)
    assert right.error_ns is not None
    kernels = [row for row in timeline.to_arrow().to_pylist() if row["name"] == "gemm"]
    assert kernels[0]["time"] == kernels[1]["time"], "both ran at the same moment"
    alone = job.job().timeline(worker=1, start_step=2, end_step=6).on("right")
    [kernel] = [row for row in alone.to_arrow().to_pylist() if row["name"] == "gemm"]
    assert kernel["time"] == kernels[0]["time"], "also of one worker on one node"
    document = trace_of(job, tmp_path / "merged.json", start_step=2, end_step=6)
    assert document["otherData"]["clock of left"] == "reference"
    assert "corrected by -5000000000 ns, error 1 ns" in document["otherData"]["clock of right"]
    assert first.error_ns == 0


def test_a_window_is_small_enough_to_be_drawn() -> None:
    timeline = recorded().job().timeline(worker=0)
    window = timeline.window(0.9, 1.2, max_slices=1)
    tracks = {slice.title: slice for slice in window.slices}
    phases = tracks["phases"]
    assert [phases.names[number] for number in phases.name_numbers] == ["backward"]
    assert (len(phases.starts_ns), phases.left_out) == (1, 2)
    assert tracks["steps"].steps.tolist() == [3]
    first, _ = window.counters
    assert first.series[0].key == "cpu.user_percent"
    assert first.buckets.mean.shape[0] == 2
    assert "tracks, " in repr(window)


def test_timeline_can_be_limited_to_one_node() -> None:
    timeline = recorded().job().timeline(metrics="cpu.*").on("right")
    assert {row["node"] for row in timeline.to_arrow().to_pylist()} == {"right"}
    assert [node.node for node in timeline.data.nodes] == ["right"]
    assert [each.key for each in timeline.data.nodes[0].series] == ["cpu.user_percent"]
    with pytest.raises(UsageError, match=r"no node 'middle'\. Available: left, right"):
        recorded().job().timeline().on("middle")


def test_unknown_steps_are_an_error() -> None:
    with pytest.raises(UsageError, match="has not recorded these steps"):
        len(recorded().job().timeline(start_step=50).to_arrow())


def test_a_trace_of_a_job_without_workers_has_system_metrics(tmp_path: Path) -> None:
    job = FakeJob().record({"cpu.user_percent": [1, 2, 3]})
    document = trace_of(job, tmp_path / "machine.json")
    assert named(document, "process_name") == {"node-a: machine"}
    assert "node-a: machine" in repr(job.job().timeline())


def test_an_empty_timeline_is_a_valid_trace(tmp_path: Path) -> None:
    assert trace_of(FakeJob(), tmp_path / "empty.json")["traceEvents"] == []


def test_failed_save_keeps_the_previous_file(tmp_path: Path) -> None:
    (tmp_path / "merged.json").write_text("good")
    (tmp_path / "merged.json").chmod(0o600)
    with pytest.raises(StoreError, match="Cannot write"):
        FakeJob().job().timeline().save(tmp_path / "nowhere" / "merged.json")
    assert (tmp_path / "merged.json").read_text() == "good"
