"""GPUMemoryIncrease: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

KEY = "gpu.memory_used_percent/gpu0"
RNG = np.random.default_rng(0)


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("GPUMemoryIncrease", **parameters)["GPUMemoryIncrease"]


def used(curve: FloatArray) -> FakeJob:
    return with_machine({KEY: curve}, (0, len(curve)))


def ramp(start: float, end: float, samples: int = 400) -> FloatArray:
    return np.linspace(start, end, samples) + RNG.normal(0, 0.1, samples)


def test_growing_memory_is_found_with_the_time_left() -> None:
    [episode] = evaluate(used(ramp(20.0, 60.0))).episodes
    evidence = episode.finding.evidence
    assert episode.is_open
    assert (episode.finding.node, episode.finding.device) == ("node-a", "gpu0")
    assert evidence["seconds_left"] == pytest.approx(200.0, rel=0.1)
    assert "At this rate, it will be full in 3 min 22 s." in episode.finding.message


def test_only_the_gpu_that_leaks_is_named() -> None:
    curves = {KEY: ramp(40.0, 40.0), f"{KEY[:-1]}1": ramp(20.0, 50.0)}
    [episode] = evaluate(with_machine(curves, (0, 400))).episodes
    assert episode.finding.device == "gpu1"


def test_growth_that_ends_is_resolved() -> None:
    [episode] = evaluate(used(np.concatenate([ramp(20, 60), np.full(1600, 60.0)]))).episodes
    assert not episode.is_open


HEALTHY = {
    "flat": ramp(50.0, 50.0),
    "a first evaluation": np.concatenate([ramp(30, 30, 200), ramp(70, 70, 400)]),
    "increasingly long sequences": 30 + 8 * np.log1p(np.arange(800) / 20),
    "up and down": 50 + 20 * np.sin(np.arange(800) / 30),
    "a negligible leak": ramp(50.0, 53.0),
    "two stages of larger images": np.repeat([20.0, 40.0, 60.0], 200),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_memory_is_not_reported(name: str) -> None:
    result = evaluate(used(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_loading_the_model_is_not_growth() -> None:
    curve = np.concatenate([np.linspace(0, 60, 300), np.full(300, 60.0)])
    assert not evaluate(with_machine({KEY: curve}, (300, 600))).episodes


def test_a_job_without_a_gpu_is_not_applicable() -> None:
    result = evaluate(with_machine({"cpu.utilization_percent": [1.0] * 50}, (0, 50)))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == "no samples of gpu.memory_used_percent recorded"


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(used(ramp(20.0, 50.0, 50)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert (
        result.reason
        == "Not enough data: 50 of 120 system samples. Only samples during training count"
    )


def test_classic_setting_applies_the_documented_criterion() -> None:
    means = [10.0, 15.0, 20.1, 20.1, 19.0, 24.2]  # +5, +5.1, 0, −1.1, +5.2
    curve = np.repeat(means, 4) + np.tile([-1.0, 1.0, -2.0, 2.0], len(means))
    small = {"setting": "classic", "window": 4, "patience": 0}
    result = evaluate(used(curve), **small, increase=5)
    assert result.triggered == 2
    first, second = result.episodes
    assert first.finding.evidence["before_percent"] == pytest.approx(15.0)
    assert second.finding.evidence["after_percent"] == pytest.approx(24.2)
    assert evaluate(used(curve), **small, increase=5.15).triggered == 1
