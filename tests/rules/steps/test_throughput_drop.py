"""ThroughputDrop: planted faults and their healthy twins."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob, series_of

BASELINE = {"data_wait": 0.01, "forward": 0.03, "backward": 0.05, "optimizer": 0.01}


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("ThroughputDrop")["ThroughputDrop"]


def trained(factors: Mapping[str, FloatArray], noise: float = 0.05, rest: float = 0.01) -> FakeJob:
    """A job whose phases take so many times what they take usually, step by step."""
    job = FakeJob()
    worker = job.worker()
    rng = np.random.default_rng(0)
    steps = max(len(factor) for factor in factors.values())
    flat = np.ones(steps)
    for step in range(steps):
        some = np.exp(noise * rng.standard_normal())
        phases = {
            name: float(seconds * factors.get(name, flat)[step] * some)
            for name, seconds in BASELINE.items()
        }
        worker.step(step, phases, rest=float(rest * factors.get("rest", flat)[step]))
    worker.flush()
    return job.end()


def slower(times: float, steps: int = 800, since: int = 400) -> FloatArray:
    return np.where(np.arange(steps) < since, 1.0, times)


@pytest.mark.parametrize(("phase", "named"), [("data_wait", "data_wait"), ("rest", "between")])
def test_steps_that_have_become_slower_are_found_with_the_phase(phase: str, named: str) -> None:
    [episode] = judged(trained({phase: slower(12.0)})).episodes
    evidence = episode.finding.evidence
    assert (episode.first_step, evidence["phase"]) == (400, named)
    assert evidence["before_seconds"] == pytest.approx(0.11, rel=0.1)
    assert evidence["now_seconds"] == pytest.approx(0.22, rel=0.1)
    assert "% fewer steps per second" in episode.finding.message


def test_steps_that_become_slower_and_slower_are_found() -> None:
    [episode] = judged(trained({"rest": 1 + np.arange(1000) / 20})).episodes
    assert episode.is_open


def test_a_machine_that_is_much_slower_for_long_is_found() -> None:
    all_phases = dict.fromkeys((*BASELINE, "rest"), slower(3.0, steps=1600))
    [episode] = judged(trained(all_phases)).episodes
    assert "in all phases" in episode.finding.message


def waiting(times: float, wait: float) -> FakeJob:
    """All phases take so many times as long from step 400 on, with so much waiting for a core."""
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


def test_steps_that_only_wait_for_cores_are_not_blamed_on_the_training() -> None:
    assert judged(waiting(3.0, wait=66.0)).episodes == ()
    assert judged(waiting(3.0, wait=20.0)).episodes


def short(
    slower_by: float = 6.0,
    cpu: float = 95.0,
    pressure: float = 5.0,
    first_sample: int = 0,
    **since: float,
) -> FakeJob:
    """A job of a few seconds on a CPU; from step 150 on all that computes takes longer.

    Args:
        slower_by: How much longer.
        cpu: Percent of a core that it has since.
        pressure: Percent of the time in which somebody waits for a core since.
        first_sample: The step at which the machine is measured first.
        since: How many times as large `inputs` and `gradients` are since, and how many `passes`.
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


def test_a_short_job_that_computes_more_for_the_same_is_found() -> None:
    [episode] = judged(short()).episodes
    assert (episode.first_step, episode.is_open) == (150, True)
    assert "in all phases" in episode.finding.message


def test_half_of_a_job_of_three_seconds_is_enough() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(250):
        worker.step(step, {"forward": 0.002}, rest=0.02 if step >= 100 else 0.002)
    worker.flush()
    [episode] = judged(job.end()).episodes
    assert episode.first_step == 100


def test_in_a_crowd_it_must_be_known_what_was_computed_before() -> None:
    assert judged(short(pressure=90.0)).episodes
    assert judged(short(pressure=90.0, first_sample=140)).episodes == ()
    assert judged(short(first_sample=140)).episodes


SHORT_AND_HEALTHY = {
    "a neighbour takes the cores": short(cpu=20.0, pressure=90.0),
    "larger inputs": short(inputs=4.0),
    "layers are thawed": short(gradients=3.0),
    "more passes": short(passes=4.0),
    "half as slow again": short(slower_by=1.8),
}


@pytest.mark.parametrize("name", SHORT_AND_HEALTHY)
def test_more_work_that_is_meant_and_busy_machines_are_left_alone(name: str) -> None:
    result = judged(SHORT_AND_HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


@pytest.mark.parametrize(("pressure", "is_found"), [(5.0, True), (90.0, False)])
def test_one_phase_is_to_blame_unless_others_have_come(pressure: float, is_found: bool) -> None:
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
    assert bool(judged(job.end()).episodes) is is_found


def loads(inputs: Callable[[int], int], inspections: Sequence[int]) -> Evaluation:
    """A job that waits eight times as long for its data from step 280 on."""
    job = FakeJob()
    worker = job.worker().add_tensor("input_0", "inputs")
    for step in range(600):
        if step in inspections:
            worker.statistics("input_0", step, np.ones(inputs(step)))
        waits = 0.04 if step >= 280 else 0.005
        worker.step(step, {"data_wait": waits, "forward": 0.002})
    worker.flush()
    return judged(job.end())


EARLY = (0, 1, 2, 5, 12, 27, 62, 93, 140, 210)


@pytest.mark.parametrize("late", [(473,), (280, 281, 285, 288, 315, 473), (500, 560)])
def test_larger_batches_take_longer_to_load(late: tuple[int, ...]) -> None:
    assert loads(lambda step: 800 if step >= 280 else 100, (*EARLY, *late)).episodes == ()


@pytest.mark.parametrize("late", [(473,), (280, 281, 285, 288, 315, 473), (500, 560)])
def test_batches_as_before_that_take_longer_to_load_are_found(late: tuple[int, ...]) -> None:
    [episode] = loads(lambda _: 100, (*EARLY, *late)).episodes
    assert episode.first_step == 300
    assert "mostly in phase data_wait" in episode.finding.message


def test_batches_that_grow_while_the_machine_is_busy_are_meant() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("input_0", "inputs")
    for step in range(600):
        size = 800 if step >= 280 else 100
        if step in (*EARLY, 140, 180, 210, 250, 315, 400):
            worker.statistics("input_0", step, np.ones(size))
        busy = 1.8 if step >= 150 else 1.0
        worker.step(step, {"data_wait": 2e-5 * size * busy, "forward": 0.002 * busy})
    worker.flush()
    assert judged(job.end()).episodes == ()


def test_what_more_passes_take_between_phases_is_meant() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(600):
        passes = 5 if step >= 300 else 1
        for number in range(passes - 1):
            worker.span("forward", 0.011 + 0.002 * number, 0.001, step)
        worker.step(step, {"forward": 0.001}, rest=0.02 * passes)
    worker.flush()
    assert judged(job.end()).episodes == ()


def test_a_drop_whose_phase_changes_is_one_drop() -> None:
    waiting = np.where((np.arange(1600) // 200) % 2 == 0, 12.0, 1.0)
    computing = np.where((np.arange(1600) // 200) % 2 == 0, 1.0, 4.0)
    is_before = np.arange(1600) < 400
    factors = {
        "data_wait": np.where(is_before, 1.0, waiting),
        "backward": np.where(is_before, 1.0, computing),
    }
    [episode] = judged(trained(factors)).episodes
    assert (episode.first_step, episode.is_open) == (400, True)


def test_one_quick_window_does_not_end_a_drop() -> None:
    steps = np.arange(1200)
    is_slow = (steps >= 400) & (steps // 50 != 14)
    [episode] = judged(trained({"data_wait": np.where(is_slow, 12.0, 1.0)})).episodes
    assert episode.is_open


HEALTHY: dict[str, Mapping[str, FloatArray]] = {
    "even": {"rest": np.ones(800)},
    "a slow beginning": {"forward": np.where(np.arange(800) < 40, 30.0, 1.0)},
    "a slow while": {"data_wait": np.where((np.arange(800) // 100) == 4, 12.0, 1.0)},
    "a slow step in ten": {"data_wait": np.where(np.arange(800) % 10 == 3, 50.0, 1.0)},
    "a backbone that is unfrozen": {"backward": slower(2.5)},
    "a busy neighbour for a minute": dict.fromkeys((*BASELINE, "rest"), slower(2.0)),
    "quicker": {"backward": slower(0.5)},
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_paces_are_left_alone(name: str) -> None:
    result = judged(trained(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_more_micro_steps_are_no_drop() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(800):
        count = 1 if step < 400 else 4
        worker.step(step, {"data_wait": 0.05 * count, "forward": 0.01}, micro_steps=count)
    worker.flush()
    assert judged(job.end()).episodes == ()


def test_evaluation_and_checkpoints_are_no_drop() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(800):
        aside = {"evaluation": 0.5, "checkpoint": 0.2} if step >= 400 else {}
        worker.step(step, {"forward": 0.1, **aside})
    worker.flush()
    assert judged(job.end()).episodes == ()


def test_a_drop_that_ends_is_over() -> None:
    factors = np.where((np.arange(1200) >= 400) & (np.arange(1200) < 800), 12.0, 1.0)
    [episode] = judged(trained({"data_wait": factors})).episodes
    assert not episode.is_open


@pytest.mark.parametrize("steps", [40, 120])
def test_a_short_job_is_told_what_is_missing(steps: int) -> None:
    result = judged(trained({"rest": np.ones(steps)}))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == f"Not enough data: {steps} of 250 steps"
