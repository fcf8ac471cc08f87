"""A job for who shows it: read once, looked at again when told to, and never judged by looking."""

import pytest

from sonde.client.shown_job import ShownJob
from sonde.records.finding import Finding, Severity
from tests.fakes.job import FakeJob
from tests.fakes.stores import write_findings


def test_what_several_charts_ask_is_read_once_until_it_looks_again() -> None:
    job = FakeJob()
    worker = job.worker().step(0, {"forward": 1.0}).flush()
    shown = ShownJob(job.backend, job.clock)
    assert shown.steps().tables is shown.steps().tables
    assert shown.summary["steps"] == {"train": 1}
    worker.step(1, {"forward": 1.0}).flush()
    assert shown.summary["steps"] == {"train": 1}
    shown.refresh()
    assert shown.summary["steps"] == {"train": 2}
    assert len(shown.steps()) == 2


def test_what_one_chart_does_to_the_summary_is_no_matter_to_others() -> None:
    shown = ShownJob(FakeJob().end().backend)
    shown.summary["state"] = "another"
    assert shown.summary["state"] == "completed"


def test_nobody_is_judged_by_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    job = FakeJob().end()
    shown = ShownJob(job.backend, job.clock)
    monkeypatch.setattr(ShownJob, "check", None)
    assert len(shown.judgement().evaluations) == 0
    write_findings(job.backend, [Finding("LossSpike", Severity.INFO, "It jumped.")])
    assert [one.rule for one in shown.judgement().evaluations] == ["LossSpike"]
