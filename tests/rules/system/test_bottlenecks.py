"""CPUBottleneck and IOBottleneck: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

METRICS = {"CPUBottleneck": "cpu.utilization_percent", "IOBottleneck": "cpu.iowait_percent"}
GPU = "gpu.utilization_percent/gpu0"
RULES = pytest.mark.parametrize("rule", METRICS)


def evaluate(rule: str, job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check(rule, **parameters)[rule]


def flat(level: float, samples: int = 300) -> FloatArray:
    return np.full(samples, level)


def held_up(rule: str, share: float, samples: int = 300) -> FakeJob:
    """A job whose host is saturated and whose GPU is idle for a share of the time."""
    is_held_up = np.arange(samples) % 20 < 20 * share
    curves = {METRICS[rule]: np.where(is_held_up, 97.0, 30.0), GPU: np.where(is_held_up, 2.0, 95.0)}
    return with_machine(curves, (0, samples))


@RULES
def test_a_saturated_host_is_found_with_its_cost(rule: str) -> None:
    result = evaluate(rule, held_up(rule, 0.8))
    [episode] = result.episodes
    evidence = episode.finding.evidence
    assert episode.finding.node == "node-a"
    assert evidence["share_percent"] == pytest.approx(80.0, abs=0.5)
    assert evidence["gpu_hours_lost"] == pytest.approx(0.8 * 0.98 * 150 / 3600, rel=0.02)
    assert result.summary == {"node-a: percent of samples": pytest.approx(80.0, abs=0.5)}


@RULES
def test_less_than_half_of_the_time_is_not_a_bottleneck(rule: str) -> None:
    result = evaluate(rule, held_up(rule, 0.4))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
    assert evaluate(rule, held_up(rule, 0.4), threshold=30).episodes


@RULES
def test_a_busy_host_with_a_busy_gpu_is_not_reported(rule: str) -> None:
    job = with_machine({METRICS[rule]: flat(99.0), GPU: flat(90.0)}, (0, 300))
    assert evaluate(rule, job).status is RuleStatus.NO_ISSUES_FOUND


@RULES
def test_samples_before_and_after_training_do_not_count(rule: str) -> None:
    busy = np.concatenate([flat(99.0, 400), flat(20.0, 200), flat(99.0, 400)])
    gpu = np.concatenate([flat(0.0, 400), flat(95.0, 200), flat(0.0, 400)])
    assert not evaluate(rule, with_machine({METRICS[rule]: busy, GPU: gpu}, (400, 600))).episodes


@RULES
def test_the_mean_of_all_gpus_of_a_node_counts(rule: str) -> None:
    curves = {METRICS[rule]: flat(99.0), GPU: flat(0.0), f"{GPU[:-1]}1": flat(90.0)}
    assert not evaluate(rule, with_machine(curves, (0, 300))).episodes


@RULES
def test_the_finding_is_resolved_when_the_share_falls(rule: str) -> None:
    host = np.concatenate([flat(99.0, 200), flat(20.0, 400)])
    gpu = np.concatenate([flat(0.0, 200), flat(95.0, 400)])
    [episode] = evaluate(rule, with_machine({METRICS[rule]: host, GPU: gpu}, (0, 600))).episodes
    assert not episode.is_open


@RULES
def test_a_job_without_a_gpu_is_not_applicable(rule: str) -> None:
    result = evaluate(rule, with_machine({METRICS[rule]: flat(99.0)}, (0, 300)))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "no samples of gpu.utilization_percent recorded"


@RULES
def test_a_short_job_reports_how_much_data_is_missing(rule: str) -> None:
    result = evaluate(
        rule, with_machine({METRICS[rule]: flat(99.0, 50), GPU: flat(0.0, 50)}, (0, 50))
    )
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 47 of 60 system samples. Only samples during training count",
    )


@RULES
def test_classic_setting_applies_the_documented_criterion(rule: str) -> None:
    limit = 90.0 if rule == "CPUBottleneck" else 50.0
    over, at, idle, low = limit + 1, limit, 9.0, 10.0
    host = [over, over, at, over, over, at, 0.0, over]
    gpu = [idle, idle, idle, low, idle, idle, idle, idle]  # 4 of 8 count
    job = with_machine({METRICS[rule]: host, GPU: gpu}, (0, 8))
    limits = {"setting": "classic", "gpu_threshold": 10, "patience": "auto"}
    assert evaluate(rule, job, **limits).triggered == 0
    [episode] = evaluate(rule, job, **{**limits, "threshold": 49.9}).episodes
    assert episode.finding.evidence["share_percent"] == 50.0
    assert evaluate(rule, job, **{**limits, "patience": 3, "threshold": 39.9}).triggered == 1
    assert evaluate(rule, job, **{**limits, "patience": 3, "threshold": 40}).triggered == 0


def test_a_job_that_uses_all_cores_available_to_it_is_saturated() -> None:
    curves = {
        "cpu.utilization_percent": flat(6.0),
        "process_tree.cpu_percent": flat(396.0),
        "cgroup.cpus_available": flat(4.0),
        GPU: flat(1.0),
    }
    job = with_machine(curves, (0, 300))
    assert evaluate("CPUBottleneck", job).episodes
    assert not evaluate("CPUBottleneck", job, setting="classic").episodes


def test_io_pressure_counts_on_a_machine_with_many_cores() -> None:
    curves = {
        "cpu.iowait_percent": flat(3.0),
        "pressure.io_full_percent": flat(80.0),
        GPU: flat(1.0),
    }
    job = with_machine(curves, (0, 300))
    assert evaluate("IOBottleneck", job).episodes
    assert not evaluate("IOBottleneck", job, setting="classic").episodes


@RULES
def test_the_thresholds_are_quoted_as_they_are_set(rule: str) -> None:
    name = {"CPUBottleneck": "cpu_threshold", "IOBottleneck": "io_threshold"}[rule]
    [episode] = evaluate(rule, held_up(rule, 0.8), **{name: 92.25, "gpu_threshold": 12.5}).episodes
    assert "for 80% of the time" in episode.finding.message
    assert "above 92.25% and GPU utilization below 12.5%." in episode.finding.message
