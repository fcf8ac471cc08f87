"""Actions are shown with their findings."""

import json
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.engine.runner import Recorder
from sonde.records.action import ActionLog, ActionRecord, ActionStatus
from sonde.records.finding import Severity
from sonde.store.facts import encode_facts
from tests.fakes.job import FakeJob
from tests.rules.own_rules import LossTooLarge


@pytest.fixture
def job(tmp_path: Path) -> str:
    job = FakeJob(str(tmp_path / "job"))
    worker = job.worker()
    for step in range(30):
        worker.scalar("loss", step, 1.0).step(step, {"forward": 0.1})
    worker.flush()
    job.end()
    *_, result = Recorder(job.backend, job.clock, [LossTooLarge(limit=0.5)]).advance()
    outcomes = {
        "email": (ActionStatus.DONE, "mail to me@example.org"),
        "webhook": (ActionStatus.FAILED, "example.org answered 404"),
        "stop": (ActionStatus.REFUSED, "severity warning is below min_severity critical"),
    }
    entries = tuple(
        ActionRecord(name, result.id, "LossTooLarge", Severity.WARNING, status, 0, message, 1)
        for name, (status, message) in outcomes.items()
    )
    job.backend.write("rules/actions.json", encode_facts(ActionLog(entries)))
    return job.backend.uri


def test_actions_are_printed_with_findings(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["findings", job]) == 0
    printed = capsys.readouterr().out
    assert "Action email, 1970-01-01T00:00:00.000000Z: mail to me@example.org" in printed
    assert "Action webhook: failed after 1 attempt: example.org answered 404" in printed
    assert "Action stop: not run: severity warning is below min_severity critical" in printed


@pytest.mark.parametrize("command", ["findings", "status"])
def test_actions_are_in_the_json_document(
    job: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line([command, job, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rule = document["rules"][0] if command == "status" else document
    statuses = [(action["action"], action["status"]) for action in rule["findings"][0]["actions"]]
    assert statuses == [("email", "done"), ("webhook", "failed"), ("stop", "refused")]
