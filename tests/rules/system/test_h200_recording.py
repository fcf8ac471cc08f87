"""The GPU rules on what was recorded of a real job on an H200; windows scaled to its length."""

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


def judged(rule: str, job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check(rule, **{**SCALED[rule], **parameters})[rule]


@pytest.mark.parametrize("stretch", ["loop", "loop2"])
@pytest.mark.parametrize("rule", SCALED)
def test_healthy_stretches_are_left_alone(rule: str, stretch: str) -> None:
    result = judged(rule, h200_job(stretch))
    assert result.episodes == ()
    assert result.status in (RuleStatus.NO_ISSUES_FOUND, RuleStatus.NOT_ENOUGH_DATA)


def test_the_healthy_loop_is_long_enough_to_be_judged() -> None:
    for rule in SCALED:
        assert judged(rule, h200_job("loop")).status is RuleStatus.NO_ISSUES_FOUND


def test_the_starved_stretch_fluctuates() -> None:
    result = judged("LowGPUUtilization", h200_job("starved"))
    [episode] = result.episodes
    assert (episode.finding.device, episode.finding.evidence["kind"]) == ("gpu0", "fluctuating")
    assert not judged("CPUBottleneck", h200_job("starved")).episodes
    assert not judged("BatchSize", h200_job("starved")).episodes


def test_the_whole_recording_fluctuates_only_where_it_was_starved() -> None:
    [episode] = judged("LowGPUUtilization", h200_job()).episodes
    assert not episode.is_open
    assert episode.finding.evidence["kind"] == "fluctuating"


def test_the_idle_stretch_is_found_with_a_lower_limit() -> None:
    *_, last = judged("IdleGPU", h200_job("loop", "profile", "starved", "idle")).episodes
    assert last.is_open
    assert last.finding.evidence["lost_seconds"] == pytest.approx(5.0, abs=1.0)
    for before in judged("IdleGPU", h200_job("start", "loop")).episodes:
        assert "before the first training step" in before.finding.message
        assert not before.is_open


def test_with_their_defaults_all_machine_rules_are_silent_on_a_minute_and_a_half() -> None:
    job = h200_job().job()
    for rule in SCALED:
        assert job.check(rule)[rule].episodes == ()
