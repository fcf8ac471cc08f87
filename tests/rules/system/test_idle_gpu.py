"""IdleGPU: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_gpus, with_machine

GPU, MEMORY = "gpu.utilization_percent/gpu0", "gpu.job_memory_bytes/gpu0"
MINUTE = 120  # samples


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("IdleGPU", **parameters)["IdleGPU"]


def sections(*levels: tuple[float, float]) -> FloatArray:
    """Utilization, and for how many minutes."""
    return np.concatenate([np.full(round(minutes * MINUTE), level) for level, minutes in levels])


def held(curve: FloatArray, trained: tuple[int, int] | None, memory: float = 8e9) -> FakeJob:
    return with_machine({GPU: curve, MEMORY: np.full(len(curve), memory)}, trained)


def test_idle_time_before_the_first_step_is_reported() -> None:
    job = with_gpus({"gpu0": sections((0, 7), (95, 2))}, (7 * MINUTE, 9 * MINUTE))
    [episode] = evaluate(job).episodes
    assert not episode.is_open
    assert episode.finding.message == (
        "gpu0 on node-a was idle for 7 min before the first training step "
        "while allocated to the job."
    )
    assert episode.finding.evidence["gpu_hours_lost"] == pytest.approx(7 / 60, rel=0.01)


def test_idle_time_between_steps_is_found_and_resolved() -> None:
    curve = sections((95, 2), (0, 6), (95, 2))
    [episode] = evaluate(with_gpus({"gpu0": curve}, (0, 2 * MINUTE))).episodes
    assert not episode.is_open
    assert "6 min after training step 239 while" in episode.finding.message


def test_idle_time_after_the_last_step_stays_open() -> None:
    [episode] = evaluate(with_gpus({"gpu0": sections((95, 2), (0, 8))}, (0, 2 * MINUTE))).episodes
    assert episode.is_open
    assert "after training step 239 while" in episode.finding.message


def test_an_unused_gpu_with_job_memory_is_found() -> None:
    [episode] = evaluate(held(sections((0, 8)), (0, 8 * MINUTE))).episodes
    assert "during 9" in episode.finding.message
    assert "training steps while allocated" in episode.finding.message


def test_a_lower_limit_finds_a_short_pause() -> None:
    job = with_gpus({"gpu0": sections((95, 1), (0, 0.1), (95, 1))}, (0, 2 * MINUTE))
    assert "idle for 6 s" in evaluate(job, minutes=0.05).episodes[0].finding.message
    assert not evaluate(job).episodes


HEALTHY = {
    "busy": with_gpus({"gpu0": sections((95, 8))}, (0, 8 * MINUTE)),
    "a pause of four minutes": with_gpus(
        {"gpu0": sections((95, 2), (0, 4), (95, 2))}, (0, 2 * MINUTE)
    ),
    "a GPU that the job does not use": with_gpus(
        {"gpu0": sections((95, 8)), "gpu1": sections((0, 8))}, (0, 8 * MINUTE)
    ),
    "a GPU of another job": held(sections((95, 1), (0, 8)), (0, 9 * MINUTE), memory=0.0),
    "starved, not idle": with_gpus({"gpu0": np.tile([0.0] * 30 + [80.0], 40)}, (0, 1240)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_gpus_are_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_job_without_a_gpu_is_not_applicable() -> None:
    result = evaluate(with_machine({"cpu.utilization_percent": [1.0] * 50}, (0, 50)))
    assert result.status is RuleStatus.NOT_APPLICABLE
