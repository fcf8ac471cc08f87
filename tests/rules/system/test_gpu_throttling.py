"""GPUThrottling: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_machine

SAMPLES = 600  # five minutes
LATE = np.arange(SAMPLES) >= 240


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("GPUThrottling", **parameters)["GPUThrottling"]


def gpu(
    number: int, clock: FloatArray | float = 1980.0, **held: FloatArray
) -> dict[str, FloatArray]:
    """Metrics of a busy GPU with these throttling reasons."""
    curves = {
        "utilization_percent": np.full(SAMPLES, 97.0),
        "sm_clock_mhz": np.broadcast_to(clock, SAMPLES).astype(np.float64),
        "temperature_celsius": np.full(SAMPLES, 88.0),
    }
    for reason in ("thermal", "power", "hardware"):
        curves[f"throttled_{reason}"] = held.get(reason, np.zeros(SAMPLES))
    return {f"gpu.{name}/gpu{number}": curve for name, curve in curves.items()}


def with_gpus(*gpus: dict[str, FloatArray]) -> FakeJob:
    curves = {key: curve for item in gpus for key, curve in item.items()}
    return with_machine(curves, (0, SAMPLES))


def test_thermal_throttling_is_found_with_the_gpu() -> None:
    hot = gpu(1, np.where(LATE, 1400.0, 1980.0), thermal=LATE.astype(np.float64))
    [episode] = evaluate(with_gpus(gpu(0), hot)).episodes
    assert episode.finding.message == (
        "Heat (88 °C) throttles gpu1 on node-a for 100% of its busy time, "
        "which reduces its clock by 29% to 1,400 MHz."
    )
    assert episode.finding.evidence["kind"] == "heat"


def test_a_lower_power_limit_of_one_gpu_is_found() -> None:
    held = np.ones(SAMPLES)
    gpus = [gpu(index, 1900.0, power=held) for index in range(3)]
    [episode] = evaluate(with_gpus(*gpus, gpu(3, 1300.0, power=held))).episodes
    assert (episode.finding.device, episode.finding.evidence["kind"]) == ("gpu3", "power")
    assert episode.finding.evidence["lost_percent"] == pytest.approx(31.6, abs=0.1)


def test_the_finding_is_resolved() -> None:
    hot = (np.arange(SAMPLES) >= 120) & (np.arange(SAMPLES) < 360)
    job = with_gpus(gpu(0, np.where(hot, 1500.0, 1980.0), hardware=hot.astype(np.float64)))
    [episode] = evaluate(job).episodes
    assert (episode.finding.evidence["kind"], episode.is_open) == ("hardware", False)


IDLE = {**gpu(0, 345.0, thermal=LATE.astype(np.float64))}
IDLE["gpu.utilization_percent/gpu0"] = np.zeros(SAMPLES)
HEALTHY = {
    "cool": [gpu(0)],
    "all GPUs at their power limit": [
        gpu(index, 1650.0 + 10 * index, power=np.ones(SAMPLES)) for index in range(4)
    ],
    "a single GPU at its power limit": [
        gpu(0, np.where(LATE, 1600.0, 1980.0), power=LATE.astype(np.float64))
    ],
    "short thermal throttling": [
        gpu(0, 1960.0, thermal=np.where(np.arange(SAMPLES) % 20 == 0, 1.0, 0.0))
    ],
    "thermal throttling without a lower clock": [gpu(0, 1965.0, thermal=np.ones(SAMPLES))],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gpus_are_not_reported(name: str) -> None:
    result = evaluate(with_gpus(*HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_an_idle_gpu_is_not_checked() -> None:
    result = evaluate(with_gpus(IDLE))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 0 of 10 samples of a busy GPU in 15 s. "
        "Only samples above 50% utilization count",
    )


def test_a_job_without_throttling_metrics_is_not_applicable() -> None:
    result = evaluate(with_machine({"gpu.utilization_percent/gpu0": [90.0] * 50}, (0, 50)))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert "no samples of gpu.throttled_thermal recorded" in (result.reason or "")
