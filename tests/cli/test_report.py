"""`sonde report`: into the job's folder, to a file, at the end of a job, and as PDF."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from sonde.agent.reporting import RUNS_ELSEWHERE
from sonde.cli._main import run_command_line
from sonde.clock import SystemClock
from sonde.records.finding import RuleStatus
from sonde.rules import rule_names
from sonde.store.layout import report_key
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob


@pytest.fixture
def job(tmp_path: Path) -> FakeJob:
    made = FakeJob(str(tmp_path / "job"))
    return made.record({"cpu.utilization_percent": [10.0, 20.0, 30.0, 40.0]})


def test_report_is_written_to_the_folder_of_the_job(
    job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["report", job.end().backend.uri]) == 0
    page = Path(job.backend.uri) / "report/report.html"
    assert capsys.readouterr().out.startswith(str(page))
    assert "25%" in page.read_text()
    rows = json.loads(page.with_suffix(".json").read_text())["tables"]["resources"]["rows"]
    assert rows[0]["p50"] == 25.0
    assert (page.parent / "rules" / "StepOutlier.json").exists()


def test_report_is_written_to_the_output_file(
    job: FakeJob, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["report", job.backend.uri, "-o", str(tmp_path / "page.html"), "--json"]
    assert run_command_line(words) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["html"] == str(tmp_path / "page.html")
    assert output["bytes"] == Path(output["html"]).stat().st_size
    assert json.loads(Path(output["json"]).read_text())["state"] == "lost"


def test_json_output_name_is_refused(job: FakeJob, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["report", job.backend.uri, "-o", "report.json"]) == 2
    assert "Specify an HTML file" in capsys.readouterr().err


def test_report_at_the_end_does_not_run_rules_again(job: FakeJob) -> None:
    assert run_command_line(["report", job.end().backend.uri, "--at-end"]) == 0
    document = json.loads(job.backend.read(report_key("report.json")))
    assert document["rules"] == []


def test_report_is_written_by_the_last_running_node(tmp_path: Path) -> None:
    later = FakeClock(SystemClock().now_ns() + 10**15)  # an attempt that starts now is not over
    job = FakeJob(str(tmp_path / "job"), clock=later)
    assert run_command_line(["report", job.backend.uri, "--at-end"]) == RUNS_ELSEWHERE
    assert not job.backend.exists(report_key("report.html"))


def test_recording_findings_updates_an_existing_report(job: FakeJob) -> None:
    uri = job.end().backend.uri
    assert run_command_line(["check", uri, "--record", "--rules", "StepOutlier"]) == 0
    assert not job.backend.exists(report_key("report.html"))
    assert run_command_line(["report", uri, "--at-end"]) == 0
    assert run_command_line(["check", uri, "--record", "--rules", "IdleGPU"]) == 0
    rules = json.loads(job.backend.read(report_key("report.json")))["rules"]
    assert [rule["rule"] for rule in rules] == ["IdleGPU", "StepOutlier"]


def test_pdf_requires_a_browser(
    job: FakeJob, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert run_command_line(["report", job.backend.uri, "--pdf"]) == 1
    assert "--pdf requires Chromium" in capsys.readouterr().err


def test_a_job_writes_its_report_from_python(job: FakeJob, tmp_path: Path) -> None:
    path = job.end().job().report(tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    assert (tmp_path / "page.json").exists()
    retained = job.job().report()
    assert str(retained).endswith("report/report.html")


@pytest.fixture
def broken_rule(monkeypatch: pytest.MonkeyPatch) -> str:
    """A built-in rule whose file cannot be imported."""
    monkeypatch.setitem(sys.modules, "sonde.rules.system.cpu_bottleneck", None)
    return "CPUBottleneck"


def test_rule_that_cannot_be_imported_is_reported_as_an_error(
    job: FakeJob, broken_rule: str
) -> None:
    assert run_command_line(["report", job.end().backend.uri]) == 0
    document = json.loads(job.backend.read(report_key("report.json")))
    rules = {rule["rule"]: rule for rule in document["rules"]}
    assert rules[broken_rule]["status"] == "Error"
    reason = rules[broken_rule]["details"]["reason"]
    assert reason.startswith("cannot be imported: ModuleNotFoundError: ")
    assert [name for name, rule in rules.items() if rule["status"] == "Error"] == [broken_rule]
    assert "ModuleNotFoundError" in (Path(job.backend.uri) / "report/report.html").read_text()


def test_rule_that_cannot_be_imported_does_not_affect_others(
    job: FakeJob, broken_rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "sonde.toml"
    config.write_text("[rules.cpu_bottleneck]\ncpu_threshold = 50\n")
    words = ["check", job.end().backend.uri, "--config", str(config), "--record", "--json"]
    assert run_command_line(words) == 0
    rules = {rule["rule"]: rule["status"] for rule in json.loads(capsys.readouterr().out)["rules"]}
    assert (rules[broken_rule], len(rules)) == ("Error", len(rule_names()))
    assert run_command_line(["rules"]) == 0
    assert f"{broken_rule} " in capsys.readouterr().out


def test_fixed_rule_runs_from_the_beginning(
    job: FakeJob, broken_rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["check", job.end().backend.uri, "--record", "--rules", broken_rule]
    assert run_command_line(words) == 0
    monkeypatch.undo()
    assert run_command_line(words) == 0
    [result] = [
        evaluation
        for evaluation in job.job().judgement().evaluations
        if evaluation.rule == broken_rule
    ]
    assert result.status is RuleStatus.NOT_APPLICABLE
