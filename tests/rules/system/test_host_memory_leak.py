"""HostMemoryLeak: jobs with the fault and similar healthy jobs."""

import json

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob, series_of
from tests.fakes.training import with_machine

TREE = "process_tree.rss_bytes"
GB = 1e9
AT = np.arange(400.0)
RNG = np.random.default_rng(0)
LEAK = GB * (2 + AT / 100)


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("HostMemoryLeak", **parameters)["HostMemoryLeak"]


def with_epochs(memory: FloatArray, steps_per_epoch: int, used: float = 0.1) -> FakeJob:
    """A job with a data loader; `used` is the used share of the machine's memory."""
    job = FakeJob()
    worker = job.worker()
    series = tuple(map(series_of, (TREE, "memory.total_bytes", "memory.used_bytes")))
    facts = {"num_workers": 2, "batch_size": 8, "dataset": "Digits", "cores": 4}
    for step, resident in enumerate(memory.tolist()):
        if step % steps_per_epoch == 0:
            detail = json.dumps(facts)
            worker.operation("iterator start", "loading", 0.0, 0.01, lane="loader 0", detail=detail)
        total = 10 * GB
        job.writer.add_sample(job.clock.now_ns(), series, (resident, total, used * total))
        worker.step(step, {"forward": 0.5})
    worker.flush()
    return job.end()


def test_growing_memory_is_found() -> None:
    [episode] = evaluate(with_machine({TREE: LEAK}, (0, 400))).episodes
    assert episode.finding.node == "node-a"
    assert episode.finding.evidence["bytes_per_second"] == pytest.approx(GB / 50, rel=0.02)
    assert episode.severity is Severity.WARNING


def test_the_worker_is_named_if_its_process_is_known() -> None:
    curves = {TREE: LEAK, "process.rss_bytes/100 python": LEAK, "process.rss_bytes/7 x": 0 * LEAK}
    [episode] = evaluate(with_machine(curves, (0, 400))).episodes
    assert episode.finding.worker == 0
    assert "worker 0" in episode.finding.message


def test_the_time_left_is_reported_and_soon_is_critical() -> None:
    curves = {
        TREE: LEAK,
        "cgroup.memory_limit_bytes": np.full(400, 8 * GB),
        "cgroup.memory_used_bytes": LEAK + 1.5 * GB,
        "cgroup.memory_reclaimable_bytes": np.full(400, 0.5 * GB),
        "memory.total_bytes": np.full(400, 500 * GB),
        "memory.used_bytes": np.full(400, 20 * GB),
    }
    [episode] = evaluate(with_machine(curves, (0, 400))).episodes
    assert episode.severity is Severity.CRITICAL
    assert episode.finding.evidence["seconds_left"] == pytest.approx(50.0, rel=0.1)


def test_growing_live_tensors_are_found() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(300):
        worker.scalar("memory/live_bytes", step, GB * (1 + step / 100))
        job.record({TREE: [3 * GB]}, 0.0, ticks_per_flush=50)
        worker.step(step, {"forward": 0.5})
    worker.flush()
    [episode] = evaluate(job.end()).episodes
    assert "Memory of live GPU tensors keeps growing" in episode.finding.message


def test_growth_beyond_the_first_epoch_is_a_leak() -> None:
    assert evaluate(with_epochs(LEAK, 50)).episodes


def test_caching_in_the_first_epoch_is_healthy_until_memory_runs_out() -> None:
    assert not evaluate(with_epochs(LEAK, 1000)).episodes
    assert evaluate(with_epochs(LEAK, 1000, used=0.8)).episodes


@pytest.mark.parametrize("is_agent", [True, False])
def test_a_replay_buffer_of_reinforcement_learning_is_healthy(is_agent: bool) -> None:
    job = FakeJob()
    worker = job.worker()
    series = (series_of(TREE),)
    for step, resident in enumerate(LEAK.tolist()):
        job.writer.add_sample(job.clock.now_ns(), series, (resident,))
        worker.step(step, {"forward": 0.5, **({"evaluation": 0.1} if is_agent else {})})
    worker.flush()
    assert bool(evaluate(job.end()).episodes) != is_agent


HEALTHY = {
    "flat": with_machine({TREE: 3 * GB + RNG.normal(0.0, 1e7, 400)}, (0, 400)),
    "grows before training": with_machine({TREE: GB * np.minimum(1 + AT / 50, 5)}, (200, 400)),
    "a cache that fills up": with_machine({TREE: GB * (2 + np.minimum(AT / 80, 1))}, (0, 400)),
    "short-lived loader processes": with_machine(
        {TREE: np.where(AT % 50 < 45, 5 * GB, 2 * GB)}, (0, 400)
    ),
    "a growing list of numbers": with_machine({TREE: 2 * GB + 1e5 * AT}, (0, 400)),
    "data kept in the first epoch": with_epochs(GB * (2 + np.minimum(AT / 100, 1)), 100),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_memory_is_not_reported(name: str) -> None:
    result = evaluate(HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(with_machine({TREE: LEAK[:4]}, (0, 4)))
    assert (result.status, result.reason) == (
        RuleStatus.NOT_ENOUGH_DATA,
        "Not enough data: 4 of 5 system samples. Only samples during training count",
    )


def test_a_job_without_samples_is_not_applicable() -> None:
    result = evaluate(with_machine({"cpu.utilization_percent": [1.0] * 50}, (0, 50)))
    assert result.status is RuleStatus.NOT_APPLICABLE


def short(megabytes: FloatArray, steps_per_sample: FloatArray | None = None) -> FakeJob:
    """A job of a few seconds with a memory sample every 0.5 seconds."""
    job = FakeJob()
    worker = job.worker(device="cpu")
    counts = np.full(len(megabytes), 40) if steps_per_sample is None else steps_per_sample
    step = 0
    for resident, count in zip(megabytes.tolist(), counts.astype(int).tolist(), strict=True):
        job.writer.add_sample(job.clock.now_ns(), (series_of(TREE),), (1e6 * resident,))
        for _ in range(count):
            worker.step(step, {"forward": 0.5 / count})
            step += 1
    worker.flush()
    return job.end()


def test_a_job_of_a_few_seconds_that_leaks_is_found() -> None:
    [episode] = evaluate(short(350 + 25 * np.arange(6.0))).episodes
    assert episode.finding.evidence["end_bytes"] == pytest.approx(475e6)


def test_a_leak_per_step_is_found_although_steps_slow_down() -> None:
    counts = np.array([60, 60, 60, 60, 60, 60, 60, 15, 15, 15, 15, 15, 15, 15])
    stored = 300 + 0.5 * np.concatenate(([0], np.cumsum(counts)[:-1]))
    [_] = evaluate(short(stored, counts)).episodes
    [_] = evaluate(short(stored[2:10], counts[2:10])).episodes


@pytest.mark.parametrize(
    "megabytes",
    [
        np.array([350, 430, 435, 440, 441, 442.0]),
        np.array([350, 400, 440, 465, 480, 485, 487, 488.0]),
        350 + 5 * np.arange(8.0),
        np.array([350, 350, 350, 350, 350, 480.0]),
    ],
    ids=["the first steps", "fills up", "a little", "one jump"],
)
def test_initial_allocations_of_a_short_job_are_not_reported(megabytes: FloatArray) -> None:
    assert evaluate(short(megabytes)).episodes == ()


def of_a_second(megabytes: FloatArray) -> FakeJob:
    """A job of one second with two samples, whose worker records its memory 20 times."""
    job = FakeJob()
    worker = job.worker(device="cpu")
    for index, resident in enumerate(megabytes.tolist()):
        if index % 10 == 5:
            job.writer.add_sample(job.clock.now_ns(), (series_of(TREE),), (1e6 * resident,))
        for step in range(10 * index, 10 * index + 10):
            worker.step(step, {"forward": 0.005})
        worker.observation("resident-memory", "process", 10 * index + 9, {}, value=1e6 * resident)
    worker.flush()
    return job.end()


NOISE = np.random.default_rng(1).normal(0.0, 0.3, 20)


def test_a_leak_within_a_second_is_found_in_worker_records() -> None:
    [episode] = evaluate(of_a_second(300 + 8 * np.arange(20.0) + NOISE)).episodes
    assert episode.finding.worker == 0


@pytest.mark.parametrize(
    "megabytes",
    [
        np.append([200.0, 300.0, 350.0], np.full(17, 370.0)) + NOISE,
        300 + 150 * (1 - np.exp(-np.arange(20.0) / 5)),
        300 + np.arange(20.0),
        np.where(np.arange(20) < 12, 300.0, 420.0),
    ],
    ids=["an allocator warms up", "a cache fills up", "a little", "one large allocation"],
)
def test_healthy_memory_within_a_second_is_not_reported(megabytes: FloatArray) -> None:
    result = evaluate(of_a_second(megabytes))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_a_leak_is_found_although_the_job_ends_long_after_training() -> None:
    memory = GB * (2 + np.minimum(np.arange(60.0), 20) / 10)
    memory[-1] = 0.0  # the process has ended
    assert evaluate(with_machine({TREE: memory}, (0, 20))).episodes
