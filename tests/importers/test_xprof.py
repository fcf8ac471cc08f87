"""Importing traces of the TensorFlow and JAX profiler."""

from pathlib import Path
from typing import Any

import pytest

from sonde.errors import UsageError
from tests.fakes.recordings import imported, named, span, write

GPU, CPU, TPU = 1, 2, 3


def gpu_events() -> list[dict[str, Any]]:
    return [
        named("process_name", "/device:GPU:0", GPU),
        named("thread_name", "Stream #13(compute)", GPU, 13),
        named("thread_name", "Stream #14(MemcpyH2D)", GPU, 14),
        named("thread_name", "Steps", GPU, 90),
        named("thread_name", "XLA Ops", GPU, 91),
        named("process_name", "/host:CPU", CPU),
        named("thread_name", "python", CPU, 1),
        span("fusion_1", 110, 40, (GPU, 13), args={"correlation_id": "77"}),
        span("MemcpyH2D", 100, 10, (GPU, 14)),
        span("12", 100, 100, (GPU, 90), args={"group_id": "0"}),
        span("13", 200, 100, (GPU, 90), args={"group_id": "1"}),
        span("fusion.1", 110, 40, (GPU, 91)),
        span("cuLaunchKernel", 90, 5, (CPU, 1), args={"correlation_id": 77}),
        span("$train.py:10 step", 80, 30, (CPU, 1)),
        span("PjitFunction(step)", 82, 20, (CPU, 1)),
        {},
    ]


def test_device_operations_are_imported_once(tmp_path: Path) -> None:
    path = write(tmp_path / "run" / "box.trace.json.gz", gpu_events(), displayTimeUnit="ns")
    rows = imported("xprof", path, tmp_path / "store").operations()
    result = {row["name"]: (row["category"], row["device"]) for row in rows}
    assert result == {
        "fusion_1": ("kernel", "cuda:0"),
        "MemcpyH2D": ("copy", "cuda:0"),
        "12": ("annotation", "cuda:0"),
        "13": ("annotation", "cuda:0"),
        "fusion.1": ("annotation", "cuda:0"),
        "cuLaunchKernel": ("runtime", "cpu"),
        "$train.py:10 step": ("python", "cpu"),
        "PjitFunction(step)": ("operator", "cpu"),
    }
    correlations = {row["name"]: row["correlation"] for row in rows}
    assert correlations["fusion_1"] == correlations["cuLaunchKernel"] == 77


def test_steps_come_from_the_device(tmp_path: Path) -> None:
    path = write(tmp_path / "run" / "box.trace.json.gz", gpu_events())
    result = imported("xprof", path, tmp_path / "store")
    assert [step["step"] for step in result.steps()] == [12, 13]
    assert result.job.nodes == ("box",)


def test_without_device_steps_annotations_with_step_numbers_are_used(tmp_path: Path) -> None:
    events = [
        named("process_name", "/host:CPU", CPU),
        span("train", 100, 50, (CPU, 1), args={"step_num": "4"}),
        span("train inner", 110, 10, (CPU, 1), args={"step_num": "4"}),
        span("train", 150, 50, (CPU, 1), args={"step_num": 5}),
    ]
    path = write(tmp_path / "run" / "box.trace.json", events)
    steps = imported("xprof", path, tmp_path / "store").steps()
    assert [(step["step"], step["seconds"]) for step in steps] == [
        (4, pytest.approx(50e-6)),
        (5, pytest.approx(50e-6)),
    ]


def test_operations_of_a_device_without_streams_are_imported(tmp_path: Path) -> None:
    events = [
        named("process_name", "/device:TPU:2", TPU),
        named("thread_name", "XLA Ops", TPU, 1),
        named("thread_name", "XLA Modules", TPU, 2),
        span("fusion.3", 100, 10, (TPU, 1)),
        span("jit_step", 90, 50, (TPU, 2)),
    ]
    path = write(tmp_path / "box.trace.json", events)
    rows = imported("xprof", path, tmp_path / "store").operations()
    result = {row["name"]: (row["category"], row["device"]) for row in rows}
    assert result == {"fusion.3": ("kernel", "tpu:2"), "jit_step": ("annotation", "tpu:2")}


def test_each_host_of_a_run_is_a_worker(tmp_path: Path) -> None:
    run = tmp_path / "logs" / "plugins" / "profile" / "2026_11_15"
    for host in ("box-a", "box-b"):
        write(run / f"{host}.trace.json.gz", gpu_events())
    job = imported("xprof", tmp_path / "logs", tmp_path / "store").job
    assert job.workers == ("0", "1")
    assert job.nodes == ("box-a", "box-b")


def test_a_folder_with_several_runs_requires_a_choice(tmp_path: Path) -> None:
    for run in ("first", "second"):
        write(tmp_path / "plugins" / "profile" / run / "box.trace.json.gz", gpu_events())
    with pytest.raises(UsageError, match="several runs: first, second"):
        imported("xprof", tmp_path, tmp_path / "store")
