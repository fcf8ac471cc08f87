"""CPUBottleneck and IOBottleneck: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

METRICS = {"CPUBottleneck": "cpu.utilization_percent", "IOBottleneck": "cpu.iowait_percent"}
GPU = "gpu.utilization_percent/gpu0"
RULES = pytest.mark.parametrize("rule", METRICS)


def judged(rule: str, job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check(rule, **parameters)[rule]


def flat(level: float, samples: int = 300) -> FloatArray:
    return np.full(samples, level)


def held_up(rule: str, share: float, samples: int = 300) -> FakeJob:
    """A job whose host is at its limit, and its GPU without work, for a share of the time."""
    is_held_up = np.arange(samples) % 20 < 20 * share
    curves = {METRICS[rule]: np.where(is_held_up, 97.0, 30.0), GPU: np.where(is_held_up, 2.0, 95.0)}
    return with_machine(curves, (0, samples))


@RULES
def test_a_host_at_its_limit_is_found_with_its_cost(rule: str) -> None:
    result = judged(rule, held_up(rule, 0.8))
    [episode] = result.episodes
    evidence = episode.finding.evidence
    assert (episode.finding.node, evidence["share_percent"]) == ("node-a", 80.0)
    assert evidence["gpu_hours_lost"] == pytest.approx(0.8 * 0.98 * 150 / 3600, rel=0.02)
    assert result.summary == {"node-a: percent of samples": 80.0}


@RULES
def test_less_than_half_of_the_time_is_no_bottleneck(rule: str) -> None:
    result = judged(rule, held_up(rule, 0.4))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
    assert judged(rule, held_up(rule, 0.4), threshold=30).episodes


@RULES
def test_a_busy_host_beside_a_busy_gpu_is_left_alone(rule: str) -> None:
    job = with_machine({METRICS[rule]: flat(99.0), GPU: flat(90.0)}, (0, 300))
    assert judged(rule, job).status is RuleStatus.NO_ISSUES_FOUND


@RULES
def test_what_happens_before_and_after_training_does_not_count(rule: str) -> None:
    busy = np.concatenate([flat(99.0, 400), flat(20.0, 200), flat(99.0, 400)])
    gpu = np.concatenate([flat(0.0, 400), flat(95.0, 200), flat(0.0, 400)])
    assert not judged(rule, with_machine({METRICS[rule]: busy, GPU: gpu}, (400, 600))).episodes


@RULES
def test_the_mean_of_all_gpus_of_a_node_counts(rule: str) -> None:
    curves = {METRICS[rule]: flat(99.0), GPU: flat(0.0), f"{GPU[:-1]}1": flat(90.0)}
    assert not judged(rule, with_machine(curves, (0, 300))).episodes


@RULES
def test_it_recovers_when_the_share_falls(rule: str) -> None:
    host = np.concatenate([flat(99.0, 200), flat(20.0, 400)])
    gpu = np.concatenate([flat(0.0, 200), flat(95.0, 400)])
    [episode] = judged(rule, with_machine({METRICS[rule]: host, GPU: gpu}, (0, 600))).episodes
    assert not episode.is_open


@RULES
def test_without_a_gpu_it_is_not_applicable(rule: str) -> None:
    result = judged(rule, with_machine({METRICS[rule]: flat(99.0)}, (0, 300)))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "no samples of gpu.utilization_percent recorded"


@RULES
def test_a_short_job_is_told_what_is_missing(rule: str) -> None:
    result = judged(
        rule, with_machine({METRICS[rule]: flat(99.0, 50), GPU: flat(0.0, 50)}, (0, 50))
    )
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 50 of 120 system samples",
    )


@RULES
def test_classic_is_the_criterion_to_the_letter(rule: str) -> None:
    limit = 90.0 if rule == "CPUBottleneck" else 50.0
    over, at, idle, low = limit + 1, limit, 9.0, 10.0
    host = [over, over, at, over, over, at, 0.0, over]
    gpu = [idle, idle, idle, low, idle, idle, idle, idle]  # 4 of 8 count
    job = with_machine({METRICS[rule]: host, GPU: gpu}, (0, 8))
    assert judged(rule, job, setting="classic").triggered == 0
    [episode] = judged(rule, job, setting="classic", threshold=49.9).episodes
    assert episode.finding.evidence["share_percent"] == 50.0
    assert judged(rule, job, setting="classic", patience=3, threshold=39.9).triggered == 1
    assert judged(rule, job, setting="classic", patience=3, threshold=40).triggered == 0


def test_a_job_that_fills_its_own_cores_is_at_its_limit() -> None:
    curves = {
        "cpu.utilization_percent": flat(6.0),
        "process_tree.cpu_percent": flat(396.0),
        "cgroup.cpus_available": flat(4.0),
        GPU: flat(1.0),
    }
    job = with_machine(curves, (0, 300))
    assert judged("CPUBottleneck", job).episodes
    assert not judged("CPUBottleneck", job, setting="classic").episodes


def test_tasks_that_all_wait_for_a_disk_count_on_a_machine_of_many_cores() -> None:
    curves = {
        "cpu.iowait_percent": flat(3.0),
        "pressure.io_full_percent": flat(80.0),
        GPU: flat(1.0),
    }
    job = with_machine(curves, (0, 300))
    assert judged("IOBottleneck", job).episodes
    assert not judged("IOBottleneck", job, setting="classic").episodes
