"""Importing traces of PyTorch's profiler: old and new formats, many ranks, broken files."""

import gzip
import json
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sonde.errors import DamagedError
from tests.fakes.recordings import (
    BASE_NS,
    STREAM,
    annotation,
    imported,
    operator,
    span,
    training_step,
    write,
    write_text,
)

SECOND_US = 1_000_000
H200 = Path(__file__).parents[1] / "golden" / "kineto_h200_one_step.json.gz"


def two_steps(start: float = 1000.0) -> list[dict[str, object]]:
    return [*training_step(4, start), *training_step(5, start + 1000, sequence=10)]


def test_steps_and_phases_come_from_annotations_of_the_profiler(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", two_steps(), baseTimeNanoseconds=BASE_NS)
    fourth, fifth = imported("kineto", path, tmp_path / "store").steps()
    assert (fourth["step"], fifth["step"]) == (4, 5)
    assert fourth["seconds"] == pytest.approx(1e-3)
    assert fourth["data_wait"] == pytest.approx(100e-6)
    assert fourth["forward"] == pytest.approx(200e-6)
    assert fourth["backward"] == pytest.approx(300e-6)
    assert fourth["optimizer"] == pytest.approx(100e-6)
    assert fourth["between"] == pytest.approx(300e-6)


def test_device_properties_that_are_not_a_list_are_ignored(tmp_path: Path) -> None:
    facts = {"baseTimeNanoseconds": BASE_NS, "deviceProperties": 7}
    path = write(tmp_path / "trace.json", two_steps(), **facts)
    assert len(imported("kineto", path, tmp_path / "store").steps()) == 2


def test_passes_of_accumulated_gradients_are_separate(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", training_step(0, 1000, passes=2))
    [step] = imported("kineto", path, tmp_path / "store").steps()
    assert step["micro_steps"] == 2
    assert step["forward"] == pytest.approx(200e-6)
    assert step["backward"] == pytest.approx(300e-6)


def test_operators_after_the_backward_pass_are_not_a_forward_pass(tmp_path: Path) -> None:
    item = operator("aten::item", 1950, 20)
    events = [*training_step(0, 1000), {**item, "args": {"Sequence number": 9}}]
    path = write(tmp_path / "trace.json", events)
    [step] = imported("kineto", path, tmp_path / "store").steps()
    assert step["forward"] == pytest.approx(200e-6)


def test_without_marked_steps_a_step_ends_with_its_optimizer(tmp_path: Path) -> None:
    events = [
        worker for worker in two_steps() if not str(worker["name"]).startswith("ProfilerStep")
    ]
    path = write(tmp_path / "trace.json", events)
    first, second = imported("kineto", path, tmp_path / "store").steps()
    assert (first["step"], second["step"]) == (0, 1)
    assert second["seconds"] == pytest.approx(1e-3)


def test_the_job_records_its_origin(tmp_path: Path) -> None:
    kernel = span("gemm", 1200, 50, STREAM, cat="kernel", args={"device": 0, "stream": 7})
    head = {
        "baseTimeNanoseconds": BASE_NS,
        "deviceProperties": [{"name": "NVIDIA H200"}],
        "cuda_runtime_version": 12040,
    }
    path = write(tmp_path / "trace.json", [*two_steps(), kernel], **head)
    result = imported("kineto", path, tmp_path / "store").job
    status = result.summary
    assert status["state"] == "ended"
    assert status["steps"] == {"train": 2}
    assert status["start_time"] == "2023-11-14T22:13:20.001000Z"
    assert status["duration_seconds"] == pytest.approx(2e-3)
    [run], [life] = status["runs"], status["lives"]
    assert run["command"] == ["sonde", "import", "kineto", str(path)]
    assert run["machine"] == {"gpus": "1 × NVIDIA H200"}
    assert (life["framework"], life["device"], life["versions"]) == (
        "torch",
        "cuda:0",
        {"cuda": "12.4"},
    )


def test_all_steps_count_as_profiled(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", two_steps(), baseTimeNanoseconds=BASE_NS)
    job = imported("kineto", path, tmp_path / "store").job
    [window] = job.events(category="window").to_arrow().to_pylist()
    assert (window["name"], window["step"]) == ("operators", 4)
    assert window["seconds"] == pytest.approx(2e-3)
    assert '"steps":[4,5]' in window["detail"]


def test_the_job_has_the_operators_of_the_trace(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json.gz", two_steps(), baseTimeNanoseconds=BASE_NS)
    rows = imported("kineto", path, tmp_path / "store").operations()
    assert len(rows) == len(two_steps())
    assert {row["category"] for row in rows} == {"operator", "annotation"}
    step = next(row for row in rows if row["name"] == "ProfilerStep#4")
    assert step["start_ns"] == BASE_NS + 1_000_000
    assert step["duration_ns"] == 1_000_000


def test_the_format_of_old_versions_is_read(tmp_path: Path) -> None:
    """PyTorch 1.8: times since the epoch, other names of categories, steps as operators."""
    now = 1.6e15
    events = [{**worker, "cat": "Operator"} for worker in two_steps(now)]
    events.append(span("gemm", now + 300, 50, STREAM, cat="Kernel", args={"device": 0}))
    path = write(tmp_path / "trace.json", events, schemaVersion=1)
    result = imported("kineto", path, tmp_path / "store")
    assert [worker["step"] for worker in result.steps()] == [4, 5]
    assert result.job.summary["start_time"].startswith("2020-09-13T12:26:40")
    assert {"kernel", "annotation", "operator"} <= {row["category"] for row in result.operations()}


def test_ranks_come_from_the_traces(tmp_path: Path) -> None:
    for rank in (0, 1):
        info = {"rank": 1 - rank, "world_size": 2, "backend": "gloo"}
        path = tmp_path / "run" / f"host-{rank}_77.123.pt.trace.json"
        write(path, two_steps(), baseTimeNanoseconds=BASE_NS, distributedInfo=info)
    job = imported("kineto", tmp_path / "run", tmp_path / "store").job
    assert job.workers == ("0", "1")
    assert [(worker.info.rank, worker.info.node) for worker in job.lives] == [
        (0, "host-1"),
        (1, "host-0"),
    ]
    assert {worker.info.world_size for worker in job.lives} == {2}
    assert job.nodes == ("host-0", "host-1")


def test_ranks_missing_in_traces_come_from_file_names(tmp_path: Path) -> None:
    for rank in (3, 12):
        write(tmp_path / "run" / f"trace_rank{rank}.json.gz", two_steps())
    job = imported("kineto", tmp_path / "run", tmp_path / "store").job
    assert job.workers == ("3", "12")
    assert {worker.info.world_size for worker in job.lives} == {2}


def test_several_recordings_of_a_rank_are_one_worker(tmp_path: Path) -> None:
    for cycle, number in enumerate((4, 40)):
        path = tmp_path / "run" / f"box_77.{cycle}.pt.trace.json"
        events = training_step(number, 1000 + cycle * SECOND_US)
        write(path, events, baseTimeNanoseconds=BASE_NS)
    result = imported("kineto", tmp_path / "run", tmp_path / "store")
    assert result.job.workers == ("0",)
    assert [worker["step"] for worker in result.steps()] == [4, 40]
    assert result.job.lives[0].info.pid == 77


def test_an_unrelated_file_in_the_folder_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "run" / "rank0.json", two_steps())
    write_text(tmp_path / "run" / "config.json", '{"batch": 4}')
    result = imported("kineto", tmp_path / "run", tmp_path / "store")
    assert result.job.workers == ("0",)
    assert any("config.json" in remark for remark in result.intake.remarks)


def test_a_file_that_is_not_a_trace_is_reported_with_its_position(tmp_path: Path) -> None:
    path = write_text(tmp_path / "trace.json", "<html>not found</html>")
    with pytest.raises(DamagedError, match=r"trace\.json.*byte"):
        imported("kineto", path, tmp_path / "store")
    assert not list((tmp_path / "store").glob("*"))


def test_the_error_for_a_trace_without_operations_lists_its_events(tmp_path: Path) -> None:
    path = write(tmp_path / "trace.json", [{"ph": "i", "name": "x", "ts": 1}])
    with pytest.raises(DamagedError, match=r"no operations, only instants \(1\)"):
        imported("kineto", path, tmp_path / "store")


def test_a_truncated_trace_is_read_as_far_as_possible(tmp_path: Path) -> None:
    complete = write(tmp_path / "whole.json.gz", two_steps(), baseTimeNanoseconds=BASE_NS)
    text = gzip.decompress(complete.read_bytes()).decode()
    path = write_text(tmp_path / "trace.json", text[: -len(text) // 3])
    result = imported("kineto", path, tmp_path / "store")
    assert 0 < len(result.operations()) < len(two_steps())
    assert any("is truncated" in remark for remark in result.intake.remarks)


def test_skipped_events_are_counted(tmp_path: Path) -> None:
    arrows = [{"ph": kind, "id": 1, "ts": 1, "cat": "ac2g", "name": "ac2g"} for kind in "sf"]
    memory = {"ph": "i", "name": "[memory]", "ts": 1100, "args": {"Bytes": 512}}
    path = write(tmp_path / "trace.json", [*two_steps(), *arrows, memory, memory])
    result = imported("kineto", path, tmp_path / "store")
    assert dict(+result.intake.left_out) == {"instants": 2}
    [notice] = result.job.summary["not_collected"]
    assert notice["what"] == "instants (2)"


def test_operations_with_invalid_times_are_skipped(tmp_path: Path) -> None:
    events = [
        *training_step(0, 1.7e15),
        operator("never", 1e30, 5),
        operator("always", 1.7e15, 1e30),
        {key: value for key, value in operator("when?", 0, 5).items() if key != "ts"},
    ]
    path = write(tmp_path / "trace.json", events)
    result = imported("kineto", path, tmp_path / "store")
    assert result.job.summary["duration_seconds"] == pytest.approx(1e-3)
    assert dict(+result.intake.left_out) == {"events without a time": 3}


def test_phases_named_by_the_script_are_used_if_there_are_no_others(tmp_path: Path) -> None:
    events = [
        annotation("ProfilerStep#0", 1000, 1000),
        annotation("## forward ##", 1100, 300),
        annotation("loss backward", 1400, 400),
        annotation("forward_hooks", 1900, 50),
    ]
    path = write(tmp_path / "trace.json", events)
    [step] = imported("kineto", path, tmp_path / "store").steps()
    assert step["forward"] == pytest.approx(300e-6)
    assert step["backward"] == pytest.approx(400e-6)
    assert step["between"] == pytest.approx(300e-6)


def test_a_gpu_recording_matches_an_independent_count(tmp_path: Path) -> None:
    events = json.loads(gzip.decompress(H200.read_bytes()))["traceEvents"]
    result = imported("kineto", H200, tmp_path / "store")
    rows = result.operations()
    for theirs, ours in (("kernel", "kernel"), ("gpu_memcpy", "copy"), ("gpu_memset", "set")):
        counted = [worker for worker in events if worker.get("cat") == theirs]
        retained = [row for row in rows if row["category"] == ours]
        assert len(retained) == len(counted) > 0
        total = sum(row["duration_ns"] for row in retained)
        assert total == pytest.approx(1000 * sum(worker["dur"] for worker in counted))
    [marked] = [
        worker for worker in events if worker["name"] == "ProfilerStep#3" and worker["pid"] != 0
    ]
    [step] = result.steps()
    assert step["step"] == 3
    assert step["seconds"] == pytest.approx(marked["dur"] / 1e6)
    assert step["forward"] + step["backward"] > 0.8 * step["seconds"]
    assert result.job.lives[0].info.device == "cuda:0"


def test_a_trace_of_the_installed_pytorch_is_read(tmp_path: Path) -> None:
    network = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(network.parameters())
    loader = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4)
    plan = torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(
        activities=activities, schedule=plan, record_shapes=True
    ) as profile:
        for (batch,) in loader:
            network(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            profile.step()
    path = tmp_path / "trace.json"
    profile.export_chrome_trace(str(path))
    result = imported("kineto", path, tmp_path / "store")
    steps = result.steps()
    assert [worker["step"] for worker in steps] == [1, 2]
    for phase in ("data_wait", "forward", "backward", "optimizer"):
        assert all(worker[phase] > 0 for worker in steps[:1]), phase
    assert result.job.operators(device="cpu").top(3)
    names = [row["name"] for row in result.operations()]
    assert "aten::addmm" in names
