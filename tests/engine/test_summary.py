"""Measurements that rules record in addition to findings."""

from collections.abc import Iterator

from sonde.engine.runner import Recorder, Runner
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.read.window import Window
from sonde.records.finding import Evidence, Finding, RuleStatus
from sonde.records.need import Losses
from sonde.rules import Rule
from sonde.rules._rule import State
from tests.fakes.training import with_losses


class Counted(Rule):
    """Counts the losses."""

    needs = (Losses(),)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        state["count"] = state.get("count", 0) + sum(map(len, window.losses()))
        yield from ()

    def summary(self, state: State) -> Evidence:
        return {"losses": float(state["count"])}


def test_measurements_of_a_rule_are_recorded_without_a_finding() -> None:
    job = with_losses([1.0] * 70)
    Recorder(job.backend, job.clock, [Counted()]).advance()
    judged = job.job().judgement()["Counted"]
    assert (judged.status, judged.summary) == (RuleStatus.NO_ISSUES_FOUND, {"losses": 70.0})
    [rule] = job.job().summary["rules"]
    assert rule["summary"] == {"losses": 70.0}


def test_a_rule_with_a_failing_summary_has_failed() -> None:
    job = with_losses([])
    runner = Runner(JobData(OpenJob(job.backend, job.clock)), [Counted()])
    runner.advance()
    [rule] = runner.evaluations
    assert rule.status is RuleStatus.ERROR
    assert "summary of Counted: KeyError" in (rule.reason or "")
