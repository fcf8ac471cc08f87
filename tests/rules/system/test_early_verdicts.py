"""System rules decide within a minute of training, and healthy jobs that look similar stay silent.

Every job is sampled twice a second and trains from the start, as with the default settings.
"""

import numpy as np
import pytest

from sonde.clock import NANOSECONDS
from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob, series_of
from tests.fakes.training import with_machine

MINUTE = 120  # samples
CPU, GPU, MEMORY, IO = (
    *("cpu.utilization_percent", "gpu.utilization_percent/gpu0"),
    *("gpu.memory_used_percent/gpu0", "cpu.iowait_percent"),
)
RNG = np.random.default_rng(4)


def noisy(level: float, samples: int = MINUTE) -> FloatArray:
    return np.asarray(np.clip(level + RNG.normal(0, 3, samples), 0, 100))


def dips(samples: int, every: int, length: int) -> FloatArray:
    return np.where(np.arange(samples) % every < length, 1.0, 97.0)


def launch_bound(samples: int = MINUTE) -> dict[str, FloatArray]:
    """A GPU that is 28% busy, with room in memory and on the host."""
    return {CPU: noisy(12, samples), GPU: noisy(28, samples), MEMORY: np.full(samples, 9.0)}


def saturated(host: str, samples: int = MINUTE) -> dict[str, FloatArray]:
    return {host: noisy(96, samples), GPU: noisy(3, samples)}


def throttled(samples: int = MINUTE) -> dict[str, FloatArray]:
    late = np.arange(samples) >= 30
    return {
        GPU: noisy(97, samples),
        "gpu.sm_clock_mhz/gpu0": np.where(late, 1400.0, 1980.0),
        "gpu.throttled_thermal/gpu0": late.astype(np.float64),
        "gpu.throttled_power/gpu0": np.zeros(samples),
        "gpu.throttled_hardware/gpu0": np.zeros(samples),
    }


def uneven(samples: int = MINUTE + 30) -> dict[str, FloatArray]:
    return {GPU: noisy(95, samples), f"{GPU[:-1]}1": noisy(45, samples)}


FAULTS = {
    "LowGPUUtilization": launch_bound(),
    "BatchSize": launch_bound(),
    "CPUBottleneck": saturated(CPU),
    "IOBottleneck": saturated(IO),
    "GPUThrottling": throttled(),
    "LoadBalancing": uneven(),
    "GPUMemoryIncrease": {"gpu.memory_used_percent/gpu0": np.linspace(20, 60, MINUTE + 10)},
}


def evaluate(rule: str, curves: dict[str, FloatArray], **parameters: object) -> Evaluation:
    samples = len(next(iter(curves.values())))
    job = with_machine(curves, (0, samples))
    return job.job().check(rule, **parameters)[rule]


@pytest.mark.parametrize("rule", FAULTS)
def test_a_fault_is_reported_after_a_minute_of_training(rule: str) -> None:
    assert evaluate(rule, FAULTS[rule]).status is RuleStatus.ISSUES_FOUND


@pytest.mark.parametrize(
    ("rule", "samples"), [("LowGPUUtilization", "1,500"), ("BatchSize", "600")]
)
def test_the_classic_setting_waits_for_its_patience_and_a_complete_window(
    rule: str, samples: str
) -> None:
    result = evaluate(rule, FAULTS[rule], setting="classic")
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert f"of {samples} system samples" in (result.reason or "")


def test_a_starved_gpu_fluctuates_after_a_minute() -> None:
    [episode] = evaluate("LowGPUUtilization", {GPU: dips(MINUTE, 7, 3)}).episodes
    assert episode.finding.evidence["kind"] == "fluctuating"


def test_the_share_of_busy_time_becomes_more_certain_with_more_samples() -> None:
    def highest(samples: int) -> float:
        [episode] = evaluate("LowGPUUtilization", {GPU: noisy(28, samples)}).episodes
        return float(np.max(np.array(episode.finding.evidence["busy_percent_bounds"])))

    assert highest(4 * MINUTE) < highest(MINUTE) < 10.0


def with_slow_steps(seconds: list[float], phase: str = "forward") -> FakeJob:
    """A job that is held up by the host in slow steps: the GPU is idle and all cores work."""
    job = FakeJob()
    worker = job.worker(device="cuda:0")
    series = tuple(map(series_of, (CPU, GPU, MEMORY)))
    ends = np.cumsum(seconds)
    begin_ns = job.clock.now_ns()
    for index in range(int(2 * ends[-1])):
        is_slow = seconds[int(np.searchsorted(ends, index / 2, side="right"))] > 1
        values = (97.0, 2.0, 5.0) if is_slow else (20.0, 96.0, 60.0)
        job.writer.add_sample(begin_ns + round(index / 2 * NANOSECONDS), series, values)
    for step, lasts in enumerate(seconds):
        worker.step(step, {phase if lasts > 1 else "forward": lasts})
    worker.flush()
    return job.end()


SLOW = {
    "compilation": with_slow_steps([30.0, 25.0, 20.0] + 200 * [0.2]),
    "evaluation": with_slow_steps(5 * [0.2] + [70.0] + 200 * [0.2], "evaluation"),
    "checkpoints": with_slow_steps(3 * [*(50 * [0.2]), 20.0], "checkpoint"),
    "a recompilation early on": with_slow_steps(10 * [0.2] + [60.0] + 100 * [0.2]),
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("rule", ["LowGPUUtilization", "BatchSize"])
def test_slow_steps_that_are_no_training_are_not_reported(rule: str, name: str) -> None:
    assert not SLOW[name].job().check(rule)[rule].episodes


@pytest.mark.parametrize("name", ["compilation", "evaluation", "checkpoints"])
def test_a_host_that_works_in_slow_steps_is_no_bottleneck(name: str) -> None:
    assert not SLOW[name].job().check("CPUBottleneck")["CPUBottleneck"].episodes


def test_training_that_is_always_held_up_is_a_bottleneck() -> None:
    job = with_slow_steps(40 * [2.0])
    assert job.job().check("CPUBottleneck")["CPUBottleneck"].episodes


HEALTHY = {
    "busy": noisy(95),
    "a slow start": np.concatenate([noisy(20, 50), noisy(95, 150)]),
    "a pause at the end": np.concatenate([noisy(95, 80), np.full(70, 12.0)]),
    "a pause every minute": dips(8 * MINUTE, MINUTE, 9),
    "a bad minute after healthy ones": np.concatenate(
        [noisy(95, 4 * MINUTE), noisy(20), noisy(95, MINUTE)]
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("rule", ["LowGPUUtilization", "BatchSize"])
def test_healthy_phases_are_not_reported(rule: str, name: str) -> None:
    gpu = HEALTHY[name]
    low = np.full(len(gpu), 20.0)
    result = evaluate(rule, {CPU: low, GPU: gpu, MEMORY: low})
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def simulated(seed: int) -> FloatArray:
    """A healthy job: busy phases and pauses of random length, less than 8% of the time."""
    rng = np.random.default_rng(seed)
    parts: list[FloatArray] = []
    while sum(map(len, parts)) < 6 * MINUTE:
        busy, pause = int(rng.integers(30, 300)), int(rng.integers(2, 25))
        parts += [noisy(float(rng.uniform(80, 99)), busy), np.full(min(pause, busy // 13), 3.0)]
    values = np.concatenate(parts)
    return np.roll(values, int(rng.integers(len(values))))


@pytest.mark.parametrize("seed", range(40))
def test_random_pauses_of_busy_gpus_are_not_reported(seed: int) -> None:
    gpu = simulated(seed)
    assert not evaluate("LowGPUUtilization", {GPU: gpu}).episodes
    assert not evaluate("CPUBottleneck", {CPU: np.where(gpu < 50, 99.0, 30.0), GPU: gpu}).episodes
