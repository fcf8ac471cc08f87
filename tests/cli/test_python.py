"""`sonde python` and the export of its profiles, over a recorded job."""

import json
import re
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile

MAIN = ("main", "/home/user/train.py", 10)
HELPER = ("augment", "/home/user/project/helper.py", 5)
MODEL = ("Linear.forward", "/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", 125)


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    """Two plain steps, a slow one, and one of an evaluation."""
    job = FakeJob(str(tmp_path / "store" / "resnet"))
    worker = job.worker()
    profile = FakeProfile(worker, first_step=9)
    for number, waits in enumerate((2, 2, 30), 9):
        profile.add_samples((MAIN, HELPER), waits).add_samples((MAIN, MODEL), 4)
        worker.step(number, {"data_wait": waits / 1000, "forward": 0.004})
    profile.add_samples((MAIN, MODEL), 3)
    worker.step(0, {"forward": 0.003}, mode="eval")
    profile.write()
    worker.flush()
    return job.end()


def run(job: FakeJob, *words: str) -> int:
    command, *rest = words
    return run_command_line([command, job.backend.uri, *rest])


def test_slowest_function_is_shown_with_its_line(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "python") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("worker 0, steps 9 to 11, 49 ms: stacks, 49 samples of 1 thread")
    first = lines[lines.index("") + 2]
    assert first.split()[:5] == ["augment", "project/helper.py:5", "34", "ms", "69.4%"]


def test_slow_steps_and_modes_are_compared(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "python") == 0
    shown = capsys.readouterr().out
    assert "Slow steps: 11 (worker 0). Self time per step:" in shown
    assert re.search(r"30 ms +2 ms", shown)
    assert "Self time per step, by mode:" in shown


def test_json_document_contains_everything(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "python", "--json", "--steps", "9:11") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["job"] == "resnet"
    assert document["profiler"] == "stacks"
    assert [entry["function"] for entry in document["functions"]] == [
        *("Linear.forward", "augment", "main")
    ]
    assert document["functions"][1]["file"] == HELPER[1]
    assert [entry["module"] for entry in document["modules"]] == ["torch", "helper.py", "train.py"]
    assert document["windows"][0]["looks"] == 49


def test_output_can_be_grouped_by_module_and_filtered_by_phase(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(job, "python", "--by", "module", "--phase", "forward") == 0
    shown = capsys.readouterr().out
    assert "torch" in shown
    assert "helper.py" not in shown.partition("Slow steps")[0]


def test_a_job_without_a_profile_explains_how_to_record_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = FakeJob(str(tmp_path / "store" / "bare"))
    bare.worker().step(0, {"forward": 0.01}).flush()
    bare.end()
    assert run(bare, "python") == 2
    assert "sonde profile" in capsys.readouterr().err


def test_profiles_are_exported_for_speedscope(
    job: FakeJob, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "python.speedscope.json"
    assert run(job, "export", "--format", "speedscope", "-o", str(file)) == 0
    [profile] = json.loads(file.read_text())["profiles"]
    assert sum(profile["weights"]) == 49_000_000
    assert run(job, "export", "--format", "speedscope", "--start-step", "99") == 2
    assert "has no Python profile" in capsys.readouterr().err
