"""`sonde rules`, `sonde check` and `sonde findings`."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from sonde.cli._main import run_command_line
from sonde.rules import rule_names
from tests.fakes.job import FakeJob

Output = pytest.CaptureFixture[str]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A job whose loss does not fall."""
    job = FakeJob(str(tmp_path / "store" / "flat"))
    worker = job.worker()
    noise = np.random.default_rng(0).standard_normal(300)
    for step in range(300):
        worker.scalar("loss", step, 2.3 + 0.02 * float(noise[step])).step(step, {"forward": 0.1})
    worker.flush()
    job.end()
    return ["flat", "--store", str(tmp_path / "store")]


def test_rules_are_listed_and_shown(capsys: Output) -> None:
    assert run_command_line(["rules"]) == 0
    listed = capsys.readouterr().out
    assert len(listed.splitlines()) == len(rule_names())
    assert run_command_line(["rules", "low_gpu_utilization"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("LowGPUUtilization: A GPU is underused")
    assert "\n\nHow it decides:\n- Underused: " in page
    assert "threshold_p95" in page
    assert max(map(len, page.splitlines())) <= 100
    assert run_command_line(["rules", "StepOutlier", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["parameters"][0] == {
        "name": "stddev",
        "allowed": "a number, 0 or more",
        "default": "3",
        "classic": "5",
    }


def test_rules_run_on_a_recorded_job(words: list[str], capsys: Output) -> None:
    assert run_command_line(["check", *words]) == 0
    output = capsys.readouterr().out
    assert output.startswith("flat: LossNotDecreasing: loss has not decreased in 300 steps")
    assert "What to do: Change the learning rate" in output
    assert "NotApplicable" in output


def test_fail_on_sets_the_exit_code(words: list[str], capsys: Output) -> None:
    assert run_command_line(["check", *words, "--fail-on", "warning"]) == 3
    assert run_command_line(["check", *words, "--fail-on", "critical"]) == 0
    assert run_command_line(["findings", *words, "--fail-on", "info"]) == 3
    capsys.readouterr()


def test_rules_and_parameters_can_be_selected(words: list[str], capsys: Output) -> None:
    chosen = ["--rules", "LossNotDecreasing", "--set", "LossNotDecreasing.num_steps=5000"]
    assert run_command_line(["check", *words, *chosen, "--json"]) == 0
    [rule] = json.loads(capsys.readouterr().out)["rules"]
    assert (rule["rule"], rule["status"]) == ("LossNotDecreasing", "NotEnoughData")
    assert rule["parameters"]["num_steps"] == 5000
    classic = ["--rules", "loss_not_decreasing", "--set", "LossNotDecreasing.setting=classic"]
    assert run_command_line(["check", *words, *classic, "--json"]) == 0
    [rule] = json.loads(capsys.readouterr().out)["rules"]
    assert (rule["setting"], rule["status"]) == ("classic", "IssuesFound")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--rules", "NoSuch"], "No rule is named 'NoSuch'"),
        (["--set", "StepOutlier.stddev=wide"], "must be a number"),
        (["--set", "stddev"], "is not a parameter"),
    ],
)
def test_invalid_arguments_are_one_line_with_exit_code_2(
    words: list[str], wrong: list[str], message: str, capsys: Output
) -> None:
    assert run_command_line(["check", *words, *wrong]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_findings_run_rules_until_some_are_recorded(words: list[str], capsys: Output) -> None:
    assert run_command_line(["findings", *words]) == 0
    assert "LossNotDecreasing (steps 0–299; ongoing)" in capsys.readouterr().out
    assert run_command_line(["check", *words, "--rules", "StepOutlier", "--record"]) == 0
    capsys.readouterr()
    assert run_command_line(["findings", *words]) == 0
    assert capsys.readouterr().out == "No issues found.\n"


def test_a_new_rule_comes_with_a_test_that_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["rules", "new", "GradientTooLarge"]) == 0
    printed = capsys.readouterr().out
    assert "python -m pytest test_gradient_too_large.py" in printed
    settings = tomllib.loads(printed[printed.index("[rules.") :])
    assert settings["rules"] == {"gradient_too_large": {"source": "gradient_too_large.py"}}
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new",), "Specify a name for the new rule"),
        (("new", "3x"), "'3x' is not a valid rule name"),
        (("new", "StepOutlier"), "Rule StepOutlier already exists"),
        (("StepOutlier", "LossSpike"), "Specify one rule"),
    ],
)
def test_invalid_name_of_a_new_rule_is_one_error_line(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["rules", *words]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_existing_file_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text("precious")
    assert run_command_line(["rules", "new", "mine"]) == 2
    assert "test_mine.py already exists" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["test_mine.py"]
