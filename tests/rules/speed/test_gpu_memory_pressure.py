"""GPUMemoryPressure: full and fragmented memory, and jobs with room."""

import pytest

from sonde.records.finding import Evaluation, RuleStatus
from sonde.rules.measures.gpu_memory import GPUMemory
from tests.fakes.job import FakeJob, series_of

GB = 1e9
TOTAL = 100 * GB


def evaluate(peak: float, reserved: float, retries: int = 0, steps: int = 40) -> Evaluation:
    job = FakeJob()
    worker = job.worker(device="cuda:0")
    numbers = {"live": 10 * GB, "peak": peak * GB, "reserved": reserved * GB}
    for step in range(steps):
        for name, value in numbers.items():
            worker.scalar(f"memory/{name}_bytes", step, value)
        worker.scalar("memory/allocation_retries", step, retries)
        worker.step(step, {"forward": 0.1})
        series = (series_of("gpu.memory_total_bytes/gpu0"),)
        job.writer.add_sample(job.clock.now_ns(), series, [TOTAL])
    worker.flush()
    return job.end().job().check("GPUMemoryPressure")["GPUMemoryPressure"]


@pytest.mark.parametrize(
    ("peak", "reserved", "retries", "message"),
    [
        (95, 97, 0, "GPU memory: tensors used up to 95% (95 GB)."),
        (60, 95, 0, "GPU memory: tensors used up to 60% (60 GB), 35% is reserved and unused."),
        (
            *(85, 90, 4),
            "GPU memory: tensors used up to 85% (85 GB), PyTorch emptied its cache 4 times.",
        ),
    ],
)
def test_full_and_fragmented_memory_is_reported(
    peak: float, reserved: float, retries: int, message: str
) -> None:
    [episode] = evaluate(peak, reserved, retries).episodes
    assert episode.finding.message == message


def test_only_activations_grow_with_the_batch() -> None:
    # 90 GB are usable; 10 GB of weights stay, 20 GB of activations grow
    memory = GPUMemory(total=100, live=10, peak=30, reserved=40, retries=0)
    assert memory.largest_batch_factor == pytest.approx(4.0)


@pytest.mark.parametrize(("peak", "reserved"), [(20, 30), (80, 90), (30, 80)])
def test_memory_with_room_is_healthy(peak: float, reserved: float) -> None:
    result = evaluate(peak, reserved)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
