"""Findings of a job in the terminal."""

import pytest

from sonde.engine.runner import Recorder
from sonde.results.live import Observer
from sonde.terminal.end_of_run import read_verdict, verdict_lines
from sonde.terminal.status import status_lines
from sonde.terminal.watch import frame
from tests.fakes.job import FakeJob
from tests.fakes.training import with_losses
from tests.rules.own_rules import Broken, LossTooLarge


@pytest.fixture
def judged() -> FakeJob:
    job = with_losses([0.5] * 20 + [2.0] * 10 + [0.5] * 80 + [20.0] * 10)
    Recorder(job.backend, job.clock, [LossTooLarge(), Broken()]).advance()
    return job


def test_status_shows_rule_counts_and_findings(judged: FakeJob) -> None:
    text = "\n".join(line.plain for line in status_lines(judged.job().summary))
    assert "rules          1 Error, 1 IssuesFound" in text
    assert "rule failed    Broken: Broken: RuntimeError: this rule is broken" in text
    critical, warning = [line for line in text.splitlines() if "LossTooLarge" in line]
    assert critical.endswith("critical LossTooLarge: 20 (ongoing)")
    assert warning.endswith("warning LossTooLarge: 2 (resolved at step 30)")


def test_status_without_rules_has_no_rules_line() -> None:
    text = "\n".join(line.plain for line in status_lines(with_losses([1.0]).job().summary))
    assert "rules" not in text
    assert "findings" not in text


def test_live_view_shows_new_findings(judged: FakeJob) -> None:
    now = Observer(judged.backend, judged.clock).poll()
    lines = [line.plain for line in frame(now, 100)]
    assert any(line.endswith("critical LossTooLarge: 20 (ongoing)") for line in lines)
    assert [finding["message"] for finding in now.document()["findings"]] == ["20", "2"]


def test_status_reports_unfinished_rules(judged: FakeJob) -> None:
    summary = judged.job().summary
    summary["rules"][0]["status"] = "InProgress"
    text = "\n".join(line.plain for line in status_lines(summary))
    assert "not finished, continue with: sonde check --record" in text


def test_run_ends_with_the_verdict_and_the_next_finding(judged: FakeJob) -> None:
    verdict = read_verdict(judged.backend)
    assert verdict is not None
    assert (verdict.findings, verdict.worst, verdict.is_final) == (2, "critical", True)
    assert verdict_lines(verdict, "job") == [
        f"critical: {verdict.sentence}",
        "  warning: LossTooLarge: 2",
        "Recommendations: sonde findings job",
    ]


def test_run_without_rules_prints_no_verdict() -> None:
    job = FakeJob()
    assert verdict_lines(read_verdict(job.backend), "job") == []


def test_unfinished_rules_are_reported_at_the_end_of_a_run() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        worker.scalar("loss", step, 0.5).step(step, {"forward": 0.1})
    worker.flush()
    Recorder(job.backend, job.clock, [LossTooLarge()]).advance()
    lines = verdict_lines(read_verdict(job.backend), "job")
    assert lines[0].startswith("No issues found so far")
    assert lines[-1].startswith(
        "Rules have not processed all data. When the job has ended, run: sonde check"
    )
