"""ThroughputDrop: jobs with the fault and similar healthy jobs."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob, series_of

BASELINE = {"data_wait": 0.01, "forward": 0.03, "backward": 0.05, "optimizer": 0.01}


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("ThroughputDrop")["ThroughputDrop"]


def trained(factors: Mapping[str, FloatArray], noise: float = 0.05, rest: float = 0.01) -> FakeJob:
    """A job whose phases take `factors` times their baseline, step by step."""
    job = FakeJob()
    worker = job.worker()
    rng = np.random.default_rng(0)
    steps = max(len(factor) for factor in factors.values())
    flat = np.ones(steps)
    for step in range(steps):
        jitter = np.exp(noise * rng.standard_normal())
        phases = {
            name: float(seconds * factors.get(name, flat)[step] * jitter)
            for name, seconds in BASELINE.items()
        }
        worker.step(step, phases, rest=float(rest * factors.get("rest", flat)[step]))
    worker.flush()
    return job.end()


def slower(times: float, steps: int = 800, since: int = 400) -> FloatArray:
    return np.where(np.arange(steps) < since, 1.0, times)


@pytest.mark.parametrize(("phase", "reported"), [("data_wait", "data_wait"), ("rest", "between")])
def test_slower_steps_are_found_with_the_phase(phase: str, reported: str) -> None:
    [episode] = evaluate(trained({phase: slower(12.0)})).episodes
    evidence = episode.finding.evidence
    assert (episode.first_step, evidence["phase"]) == (400, reported)
    assert evidence["before_seconds"] == pytest.approx(0.11, rel=0.1)
    assert evidence["now_seconds"] == pytest.approx(0.22, rel=0.1)
    assert "% fewer steps per second" in episode.finding.message


def test_gradually_slower_steps_are_found() -> None:
    [episode] = evaluate(trained({"rest": 1 + np.arange(1000) / 20})).episodes
    assert episode.is_open


def test_a_long_slowdown_of_all_phases_is_found() -> None:
    all_phases = dict.fromkeys((*BASELINE, "rest"), slower(3.0, steps=1600))
    [episode] = evaluate(trained(all_phases)).episodes
    assert "in all phases" in episode.finding.message


def waiting(times: float, wait: float) -> FakeJob:
    """A job whose phases take `times` as long from step 400 on, while it waits for a core."""
    job = FakeJob()
    worker = job.worker()
    series = (series_of("process_tree.cpu_wait_percent"),)
    for step in range(1600):
        factor = times if step >= 400 else 1.0
        worker.step(step, {name: factor * seconds for name, seconds in BASELINE.items()})
        if step % 5 == 0:
            value = wait if step >= 400 else 2.0
            job.writer.add_sample(job.clock.now_ns(), series, (value,))
    worker.flush()
    return job.end()


def test_slow_steps_due_to_waits_for_a_core_are_not_reported() -> None:
    assert evaluate(waiting(3.0, wait=66.0)).episodes == ()
    assert evaluate(waiting(3.0, wait=20.0)).episodes


def short(
    slower_by: float = 6.0,
    cpu: float = 95.0,
    pressure: float = 5.0,
    first_sample: int = 0,
    **since: float,
) -> FakeJob:
    """A job of a few seconds on a CPU whose forward and backward take longer from step 150 on.

    Args:
        slower_by: The slowdown.
        cpu: CPU usage from step 150 on, in percent of a core.
        pressure: CPU pressure from step 150 on, in percent.
        first_sample: The step of the first system sample.
        since: Growth of `inputs` and `gradients`, and number of `passes`, from step 150 on.
    """
    job = FakeJob()
    worker = job.worker()
    worker.add_tensor("input_0", "inputs").add_tensor("gradient/0.weight", "gradients")
    series = (series_of("process_tree.cpu_percent"), series_of("pressure.cpu_some_percent"))
    for step in range(400):
        is_slow = step >= 150
        times = slower_by if is_slow else 1.0
        if step % 20 == 0:
            machine = (cpu, pressure) if is_slow else (95.0, 5.0)
            if step >= first_sample:
                job.writer.add_sample(job.clock.now_ns(), series, machine)
            for name, what in (("input_0", "inputs"), ("gradient/0.weight", "gradients")):
                size = int(100 * (since.get(what, 1.0) if is_slow else 1.0))
                worker.statistics(name, step, np.ones(size))
        for index in range(int(since.get("passes", 1.0)) - 1 if is_slow else 0):
            worker.span("forward", 0.0001 * index, 0.0001, step)
        worker.step(step, {"forward": 0.001 * times, "backward": 0.002 * times}, rest=0.0005)
    worker.flush()
    return job.end()


def test_more_cpu_time_for_the_same_workload_is_found_in_a_short_job() -> None:
    [episode] = evaluate(short()).episodes
    assert (episode.first_step, episode.is_open) == (150, True)
    assert "in all phases" in episode.finding.message


def test_a_slowdown_of_half_of_a_short_job_is_found() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(250):
        worker.step(step, {"forward": 0.002}, rest=0.02 if step >= 100 else 0.002)
    worker.flush()
    [episode] = evaluate(job.end()).episodes
    assert episode.first_step == 100


def test_under_contention_earlier_cpu_time_must_be_known() -> None:
    assert evaluate(short(pressure=90.0)).episodes
    assert evaluate(short(pressure=90.0, first_sample=140)).episodes == ()
    assert evaluate(short(first_sample=140)).episodes


SHORT_AND_HEALTHY = {
    "other processes take the cores": short(cpu=20.0, pressure=90.0),
    "larger inputs": short(inputs=4.0),
    "layers are unfrozen": short(gradients=3.0),
    "more passes": short(passes=4.0),
    "a small slowdown": short(slower_by=1.8),
}


@pytest.mark.parametrize("name", SHORT_AND_HEALTHY)
def test_larger_workloads_and_busy_machines_are_not_reported(name: str) -> None:
    result = evaluate(SHORT_AND_HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


@pytest.mark.parametrize(("pressure", "is_found"), [(5.0, True), (90.0, False)])
def test_a_single_slow_phase_is_reported_unless_cpu_is_contended(
    pressure: float, is_found: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    series = (series_of("process_tree.cpu_percent"), series_of("pressure.cpu_some_percent"))
    for step in range(600):
        is_slow = step >= 300
        if step % 20 == 0:
            machine = (30.0, pressure) if is_slow else (95.0, 5.0)
            job.writer.add_sample(job.clock.now_ns(), series, machine)
        worker.step(step, {"forward": 0.002}, rest=0.04 if is_slow else 0.015)
    worker.flush()
    assert bool(evaluate(job.end()).episodes) is is_found


def evaluate_loading(inputs: Callable[[int], int], inspections: Sequence[int]) -> Evaluation:
    """Evaluate a job that waits 8 times as long for its data from step 280 on."""
    job = FakeJob()
    worker = job.worker().add_tensor("input_0", "inputs")
    for step in range(600):
        if step in inspections:
            worker.statistics("input_0", step, np.ones(inputs(step)))
        waits = 0.04 if step >= 280 else 0.005
        worker.step(step, {"data_wait": waits, "forward": 0.002})
    worker.flush()
    return evaluate(job.end())


EARLY = (0, 1, 2, 5, 12, 27, 62, 93, 140, 210)


@pytest.mark.parametrize("late", [(473,), (280, 281, 285, 288, 315, 473), (500, 560)])
def test_slower_loading_of_larger_batches_is_not_reported(late: tuple[int, ...]) -> None:
    assert (
        evaluate_loading(lambda step: 800 if step >= 280 else 100, (*EARLY, *late)).episodes == ()
    )


@pytest.mark.parametrize("late", [(473,), (280, 281, 285, 288, 315, 473), (500, 560)])
def test_slower_loading_of_equal_batches_is_found(late: tuple[int, ...]) -> None:
    [episode] = evaluate_loading(lambda _: 100, (*EARLY, *late)).episodes
    assert episode.first_step == 300
    assert "mostly in phase data_wait" in episode.finding.message


def test_larger_batches_on_a_busy_machine_are_not_reported() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("input_0", "inputs")
    for step in range(600):
        size = 800 if step >= 280 else 100
        if step in (*EARLY, 140, 180, 210, 250, 315, 400):
            worker.statistics("input_0", step, np.ones(size))
        busy = 1.8 if step >= 150 else 1.0
        worker.step(step, {"data_wait": 2e-5 * size * busy, "forward": 0.002 * busy})
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def test_time_between_phases_of_additional_passes_is_not_reported() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(600):
        passes = 5 if step >= 300 else 1
        for number in range(passes - 1):
            worker.span("forward", 0.011 + 0.002 * number, 0.001, step)
        worker.step(step, {"forward": 0.001}, rest=0.02 * passes)
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def test_a_drop_with_changing_phase_is_one_episode() -> None:
    waiting = np.where((np.arange(1600) // 200) % 2 == 0, 12.0, 1.0)
    computing = np.where((np.arange(1600) // 200) % 2 == 0, 1.0, 4.0)
    is_before = np.arange(1600) < 400
    factors = {
        "data_wait": np.where(is_before, 1.0, waiting),
        "backward": np.where(is_before, 1.0, computing),
    }
    [episode] = evaluate(trained(factors)).episodes
    assert (episode.first_step, episode.is_open) == (400, True)


def test_a_single_fast_window_does_not_resolve_a_drop() -> None:
    steps = np.arange(1200)
    is_slow = (steps >= 400) & (steps // 50 != 14)
    [episode] = evaluate(trained({"data_wait": np.where(is_slow, 12.0, 1.0)})).episodes
    assert episode.is_open


HEALTHY: dict[str, Mapping[str, FloatArray]] = {
    "even": {"rest": np.ones(800)},
    "a slow start": {"forward": np.where(np.arange(800) < 40, 30.0, 1.0)},
    "a temporary slowdown": {"data_wait": np.where((np.arange(800) // 100) == 4, 12.0, 1.0)},
    "a slow step in ten": {"data_wait": np.where(np.arange(800) % 10 == 3, 50.0, 1.0)},
    "a backbone that is unfrozen": {"backward": slower(2.5)},
    "other load on the machine for a minute": dict.fromkeys((*BASELINE, "rest"), slower(2.0)),
    "faster": {"backward": slower(0.5)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_throughput_is_not_reported(name: str) -> None:
    result = evaluate(trained(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_more_micro_steps_are_not_a_drop() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(800):
        count = 1 if step < 400 else 4
        worker.step(step, {"data_wait": 0.05 * count, "forward": 0.01}, micro_steps=count)
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def test_evaluation_and_checkpoints_are_not_a_drop() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(800):
        extra = {"evaluation": 0.5, "checkpoint": 0.2} if step >= 400 else {}
        worker.step(step, {"forward": 0.1, **extra})
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def test_a_drop_that_ends_is_resolved() -> None:
    factors = np.where((np.arange(1200) >= 400) & (np.arange(1200) < 800), 12.0, 1.0)
    [episode] = evaluate(trained({"data_wait": factors})).episodes
    assert not episode.is_open


@pytest.mark.parametrize("steps", [40, 120])
def test_a_short_job_reports_how_much_data_is_missing(steps: int) -> None:
    result = evaluate(trained({"rest": np.ones(steps)}))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == f"Not enough data: {steps} of 250 steps"
