"""GPUThrottling: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

SAMPLES = 600  # five minutes
LATE = np.arange(SAMPLES) >= 240


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("GPUThrottling", **parameters)["GPUThrottling"]


def gpu(
    number: int, clock: FloatArray | float = 1980.0, **held: FloatArray
) -> dict[str, FloatArray]:
    """A GPU at work, held down by something now and then."""
    curves = {
        "utilization_percent": np.full(SAMPLES, 97.0),
        "sm_clock_mhz": np.broadcast_to(clock, SAMPLES).astype(np.float64),
        "temperature_celsius": np.full(SAMPLES, 88.0),
    }
    for reason in ("thermal", "power", "hardware"):
        curves[f"throttled_{reason}"] = held.get(reason, np.zeros(SAMPLES))
    return {f"gpu.{name}/gpu{number}": curve for name, curve in curves.items()}


def with_some(*gpus: dict[str, FloatArray]) -> FakeJob:
    curves = {key: curve for item in gpus for key, curve in item.items()}
    return with_machine(curves, (0, SAMPLES))


def test_heat_is_found_and_the_gpu_named() -> None:
    hot = gpu(1, np.where(LATE, 1400.0, 1980.0), thermal=LATE.astype(np.float64))
    [episode] = judged(with_some(gpu(0), hot)).episodes
    assert episode.finding.message == (
        "Heat (88 °C) throttles gpu1 on node-a for 100% of its busy time, "
        "which reduces its clock by 29% to 1400 MHz."
    )
    assert episode.finding.evidence["kind"] == "heat"


def test_a_power_limit_that_only_one_gpu_has_is_found() -> None:
    held = np.ones(SAMPLES)
    gpus = [gpu(index, 1900.0, power=held) for index in range(3)]
    [episode] = judged(with_some(*gpus, gpu(3, 1300.0, power=held))).episodes
    assert (episode.finding.device, episode.finding.evidence["kind"]) == ("gpu3", "power")
    assert episode.finding.evidence["lost_percent"] == pytest.approx(31.6, abs=0.1)


def test_it_recovers() -> None:
    hot = (np.arange(SAMPLES) >= 120) & (np.arange(SAMPLES) < 360)
    job = with_some(gpu(0, np.where(hot, 1500.0, 1980.0), hardware=hot.astype(np.float64)))
    [episode] = judged(job).episodes
    assert (episode.finding.evidence["kind"], episode.is_open) == ("hardware", False)


IDLE = {**gpu(0, 345.0, thermal=LATE.astype(np.float64))}
IDLE["gpu.utilization_percent/gpu0"] = np.zeros(SAMPLES)
HEALTHY = {
    "cool": [gpu(0)],
    "a power limit that everybody reaches": [
        gpu(index, 1650.0 + 10 * index, power=np.ones(SAMPLES)) for index in range(4)
    ],
    "alone at its power limit": [
        gpu(0, np.where(LATE, 1600.0, 1980.0), power=LATE.astype(np.float64))
    ],
    "warm for a moment": [gpu(0, 1960.0, thermal=np.where(np.arange(SAMPLES) % 20 == 0, 1.0, 0.0))],
    "warm without a loss": [gpu(0, 1965.0, thermal=np.ones(SAMPLES))],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gpus_are_left_alone(name: str) -> None:
    result = judged(with_some(*HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_an_idle_gpu_says_nothing() -> None:
    result = judged(with_some(IDLE))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 0 of 20 samples of a busy GPU per minute",
    )


def test_without_what_it_needs_it_is_not_applicable() -> None:
    result = judged(with_machine({"gpu.utilization_percent/gpu0": [90.0] * 50}, (0, 50)))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert "no samples of gpu.throttled_thermal recorded" in (result.reason or "")
