"""`sonde export --format chrome-trace`: one timeline, through the command line."""

import gzip
import json
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.fakes.job import FakeJob
from tests.fakes.perfetto import check_trace


@pytest.fixture
def store(tmp_path: Path) -> str:
    job = FakeJob(str(tmp_path / "store" / "resnet"), node="left")
    worker = job.worker()
    for step in range(6):
        worker.step(step, {"forward": 0.5, "backward": 0.5})
    worker.flush()
    job.record({"cpu.user_percent": [1, 2, 3]}).end()
    return str(tmp_path / "store")


def export(store: str, *words: str) -> int:
    return run_command_line(["export", "resnet", "--store", store, *words])


def test_a_range_of_steps_goes_into_a_compressed_file(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "merged.json.gz"
    words = ("--format", "chrome-trace", "--start-step", "0", "--end-step", "3", "-o", str(target))
    assert export(store, *words, "--json") == 0
    document = json.loads(gzip.decompress(target.read_bytes()))
    check_trace(document)
    steps = [
        event["args"]["step"] for event in document["traceEvents"] if event.get("cat") == "step"
    ]
    assert steps == [0, 1, 2]
    assert json.loads(capsys.readouterr().out)["bytes"] == target.stat().st_size


def test_timeline_can_be_written_to_standard_output(
    store: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert export(store, "--format", "chrome-trace", "--node", "left", "--metric", "cpu.*") == 0
    check_trace(json.loads(capfdbinary.readouterr().out))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--format", "csv", "--start-step", "0"), "csv contains no steps"),
        (("--format", "chrome-trace", "--start-step", "70"), "has not recorded these steps"),
        (("--format", "chrome-trace", "--metric", "nope.*"), "no metric 'nope.*'"),
        (("--format", "chrome-trace", "--worker", "7"), "no worker 7"),
    ],
)
def test_invalid_export_is_a_usage_error(
    store: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(store, *words) == 2
    assert message in capsys.readouterr().err


def test_range_without_data_is_noted(
    store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("--format", "chrome-trace", "--start", "5000", "-o", str(tmp_path / "none.json"))
    assert export(store, *words) == 0
    check_trace(json.loads((tmp_path / "none.json").read_text()))
    assert "No data in this range" in capfd.readouterr().err


def test_gpu_recording_keeps_kernels_and_their_launches(tmp_path: Path) -> None:
    recording = Path(__file__).parents[1] / "golden" / "kineto_h200_one_step.json.gz"
    store, target = str(tmp_path / "store"), tmp_path / "merged.json"
    words = ["import", "kineto", str(recording), "--name", "resnet", "--store", store]
    assert run_command_line(words) == 0
    assert export(store, "--format", "chrome-trace", "-o", str(target)) == 0
    document = json.loads(target.read_text())
    check_trace(document)
    events = json.loads(gzip.decompress(recording.read_bytes()))["traceEvents"]
    kernels = [entry for entry in events if entry.get("cat") == "kernel"]
    shown = [entry for entry in document["traceEvents"] if entry.get("cat") == "kernel"]
    assert len(shown) == len(kernels) > 100
    lengths = [sorted(round(entry["dur"] * 1000) for entry in piece) for piece in (shown, kernels)]
    assert lengths[0] == lengths[1], "to the nanosecond"
    arrows = [entry for entry in document["traceEvents"] if entry["ph"] == "s"]
    assert len(arrows) > 0.9 * len(kernels)
