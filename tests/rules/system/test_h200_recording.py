"""GPU rules on a recording of a real job on an H200, with windows scaled to its length."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.h200 import h200_job
from tests.fakes.job import FakeJob

SCALED: dict[str, dict[str, object]] = {
    "LowGPUUtilization": {"window": 40},
    "BatchSize": {"window": 40},
    "GPUMemoryIncrease": {"window": 5},
    "CPUBottleneck": {},
    "IdleGPU": {"minutes": 0.05},
    "StalledTrainingRule": {},
    "MaxInitializationTime": {},
}


def evaluate(rule: str, job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check(rule, **{**SCALED[rule], **parameters})[rule]


@pytest.mark.parametrize("interval", ["loop", "loop2"])
@pytest.mark.parametrize("rule", SCALED)
def test_healthy_intervals_are_not_reported(rule: str, interval: str) -> None:
    result = evaluate(rule, h200_job(interval))
    assert result.episodes == ()
    assert result.status in (RuleStatus.NO_ISSUES_FOUND, RuleStatus.NOT_ENOUGH_DATA)


def test_the_healthy_loop_is_long_enough_for_a_decision() -> None:
    for rule in SCALED:
        assert evaluate(rule, h200_job("loop")).status is RuleStatus.NO_ISSUES_FOUND


def test_utilization_fluctuates_in_the_starved_interval() -> None:
    result = evaluate("LowGPUUtilization", h200_job("starved"))
    [episode] = result.episodes
    assert (episode.finding.device, episode.finding.evidence["kind"]) == ("gpu0", "fluctuating")
    assert not evaluate("CPUBottleneck", h200_job("starved")).episodes
    assert not evaluate("BatchSize", h200_job("starved")).episodes


def test_the_whole_recording_fluctuates_only_in_the_starved_interval() -> None:
    [episode] = evaluate("LowGPUUtilization", h200_job()).episodes
    assert not episode.is_open
    assert episode.finding.evidence["kind"] == "fluctuating"


def test_the_idle_interval_is_found_with_a_lower_limit() -> None:
    *_, last = evaluate("IdleGPU", h200_job("loop", "profile", "starved", "idle")).episodes
    assert last.is_open
    assert last.finding.evidence["lost_seconds"] == pytest.approx(5.0, abs=1.0)
    for before in evaluate("IdleGPU", h200_job("start", "loop")).episodes:
        assert "before the first training step" in before.finding.message
        assert not before.is_open


def test_no_machine_rule_fires_with_default_parameters() -> None:
    job = h200_job().job()
    for rule in SCALED:
        assert job.check(rule)[rule].episodes == ()
