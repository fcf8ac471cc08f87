"""BatchSize: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob, series_of
from tests.fakes.training import with_machine

CPU, GPU, MEMORY = (
    *("cpu.utilization_percent", "gpu.utilization_percent/gpu0"),
    "gpu.memory_used_percent/gpu0",
)


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    values = {"window": 100, **parameters}
    return job.job().check("BatchSize", **values)["BatchSize"]


def machine(cpu: float, gpu: float, memory: float, samples: int = 300) -> FakeJob:
    curves = {CPU: [cpu] * samples, GPU: [gpu] * samples, MEMORY: [memory] * samples}
    return with_machine(curves, (0, samples))


def test_room_for_larger_batches_is_found() -> None:
    [episode] = evaluate(machine(20.0, 35.0, 12.0)).episodes
    assert "CPU 20%, GPU 35% and GPU memory 12%" in (episode.finding.message)
    assert (episode.finding.node, episode.is_open) == ("node-a", True)


@pytest.mark.parametrize(
    "levels", [(80.0, 35.0, 12.0), (20.0, 90.0, 12.0), (20.0, 35.0, 85.0), (20.0, 0.0, 12.0)]
)
def test_a_busy_resource_or_an_idle_gpu_is_not_reported(
    levels: tuple[float, float, float],
) -> None:
    result = evaluate(machine(*levels))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_the_busiest_of_several_gpus_counts() -> None:
    curves = {CPU: [9.0] * 300, GPU: [20.0] * 300, f"{GPU[:-1]}1": [95.0] * 300}
    curves |= {MEMORY: [9.0] * 300, f"{MEMORY[:-1]}1": [9.0] * 300}
    assert not evaluate(with_machine(curves, (0, 300))).episodes


def test_a_job_that_waits_for_data_is_not_reported() -> None:
    for wait, is_found in ((0.05, True), (0.3, False)):
        job = FakeJob()
        worker = job.worker()
        series = tuple(map(series_of, (CPU, GPU, MEMORY)))
        for step in range(300):
            job.writer.add_sample(job.clock.now_ns(), series, (20.0, 35.0, 12.0))
            worker.step(step, {"data_wait": wait, "forward": 0.5 - wait})
        worker.flush()
        assert bool(evaluate(job.end()).episodes) is is_found


def test_low_utilization_at_the_start_is_not_reported() -> None:
    low = np.full(300, 9.0)
    curves = {CPU: low, GPU: np.where(np.arange(300) < 110, 30.0, 95.0), MEMORY: low}
    assert not evaluate(with_machine(curves, (0, 300))).episodes


def test_a_job_without_a_gpu_is_not_applicable() -> None:
    result = evaluate(with_machine({CPU: [20.0] * 300}, (0, 300)))
    assert result.status is RuleStatus.NOT_APPLICABLE
    assert result.reason == (
        "no samples of gpu.utilization_percent recorded and "
        "no samples of gpu.memory_used_percent recorded"
    )


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(machine(20.0, 35.0, 12.0, 50))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 47 of 200 system samples. Only samples during training count",
    )


def test_classic_setting_applies_the_documented_criterion() -> None:
    at_limit, below = [70.0] * 20, [69.9] * 20
    few_high = [99.0] + [50.0] * 19  # the 95th percentile lies between the two highest
    for cpu, triggered in ((at_limit, 0), (below, 1), (few_high, 1)):
        job = with_machine({CPU: cpu, GPU: below, MEMORY: below}, (0, 20))
        assert evaluate(job, setting="classic", patience=0, window=20).triggered == triggered
    job = with_machine({CPU: below, GPU: below, MEMORY: below}, (0, 20))
    assert evaluate(job, setting="classic", patience=0, window=10).triggered == 2
    assert not evaluate(
        job, setting="classic", patience=0, window=20, gpu_threshold_p95=69
    ).triggered
