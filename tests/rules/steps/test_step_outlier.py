"""StepOutlier: jobs with the fault and similar healthy jobs."""

import numpy as np
import pytest

from sonde.records.arrays import FloatArray
from sonde.records.finding import Evaluation, RuleStatus
from tests.fakes.job import FakeJob
from tests.fakes.training import with_steps


def evaluate(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("StepOutlier", **parameters)["StepOutlier"]


def durations(steps: int, noise: float = 0.03, seed: int = 0) -> FloatArray:
    values = 0.1 * (1 + noise * np.random.default_rng(seed).standard_normal(steps))
    return np.asarray(np.maximum(values, 0.02))


def test_long_steps_are_found_with_phase_period_and_cost() -> None:
    seconds = durations(800)
    seconds[24::25] = 0.5
    [episode] = evaluate(with_steps(seconds)).episodes
    evidence = episode.finding.evidence
    assert (evidence["phase"], evidence["period_steps"]) == ("data_wait", 25)
    assert evidence["lost_percent"] == pytest.approx(100 * 0.4 / 2.9, rel=0.1)
    assert episode.finding.worker == 0


def test_only_the_worker_with_long_steps_is_named() -> None:
    slow = durations(600)
    slow[20::25] = 0.6
    job = FakeJob()
    start_ns = job.clock.now_ns()
    for rank, seconds in ((0, durations(600, seed=1)), (1, slow)):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=2)
        for step, lasted in enumerate(seconds):
            worker.step(step, {"forward": float(lasted)})
        worker.flush()
    [episode] = evaluate(job.end()).episodes
    assert episode.finding.worker == 1


def test_system_metrics_during_long_steps_are_reported() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(400):
        is_long = step % 25 == 24
        for _ in range(5 if is_long else 1):
            job.record({"cpu.iowait_percent": [80.0 if is_long else 1.0]}, 0.0)
            job.clock.advance(0.02)
        lasted = 0.5 if is_long else 0.1
        job.clock.advance(-0.02 * (5 if is_long else 1))
        worker.step(step, {"data_wait": lasted - 0.05, "forward": 0.05})
    worker.flush()
    [episode] = evaluate(job.end()).episodes
    pair = episode.finding.evidence["cpu.iowait_percent (outliers, others)"]
    assert pair == pytest.approx([80.0, 1.0])


def paused(phase: str, seconds: float = 10.0, line: str = "", section: str = "") -> FakeJob:
    """Two workers with steps of 8 ms; worker 1 is stuck at step 400, and worker 0 waits for it."""
    job = FakeJob()
    start_ns = job.clock.now_ns()
    for rank in (0, 1):
        job.clock._now_ns = start_ns
        worker = job.worker(rank, world_size=2)
        for step in range(900):
            if step == 400 and line:
                job.clock.advance(0.8 * seconds)
                where = {"in": section if rank == 1 else "collective"}
                worker.observation("standing-still", line, step, where, value=0.8 * seconds)
                job.clock.advance(-0.8 * seconds)
            pause = seconds if step == 400 else 0.0
            worker.step(step, {phase if rank == 1 else "backward": pause, "forward": 0.008})
        worker.flush()
    return job.end()


def test_a_single_ten_second_step_is_found_with_the_stuck_worker() -> None:
    [episode] = evaluate(paused("between")).episodes
    assert (episode.finding.worker, episode.first_step) == (1, 400)
    assert "took 10 s, mostly in phase between (median: 8 ms)" in (episode.finding.message)


def test_a_single_long_step_is_found_with_the_line_where_it_was_stuck() -> None:
    [episode] = evaluate(paused("between", line="wait (train.py:24)")).episodes
    assert "Step 400 of worker 1 took 10 s in wait (train.py:24)" in episode.finding.message


def test_intended_or_short_pauses_are_not_reported() -> None:
    assert evaluate(paused("evaluation")).episodes == ()
    assert evaluate(paused("between", seconds=4.0)).episodes == ()
    compiled = paused("forward", line="forward (train.py:3)", section="compiling")
    assert evaluate(compiled).episodes == ()


HEALTHY = {
    "even steps": durations(800),
    "sentences of all lengths": durations(800, noise=0.35),
    "a few very long sentences": 0.1 * np.exp(0.5 * np.random.default_rng(3).standard_normal(3000)),
    "other load on the machine": np.maximum(
        0.02, 0.1 * (1 + 0.15 * np.abs(np.random.default_rng(4).standard_t(3, 3000)))
    ),
    "a slow start": np.append([30.0, 5.0, 1.0], durations(800)),
    "a dozen long steps in a long job": np.where(
        np.arange(6000) % 500 == 250, 0.25, durations(6000)
    ),
    "short steps on a busy machine": np.where(np.arange(800) % 20 == 7, 0.012, 0.003),
    "slower in the second half": np.append(durations(500), 2 * durations(500)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_step_times_are_not_reported(name: str) -> None:
    result = evaluate(with_steps(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_rollouts_are_not_outliers() -> None:
    def with_rollouts(passes: int) -> FakeJob:
        job = FakeJob()
        worker = job.worker()
        for step in range(800):
            is_long = step % 25 == 24
            for index in range(passes if is_long else 0):
                worker.span("forward", 0.01 * index, 0.01, step)
            worker.step(step, {"between": 0.45 if is_long else 0.05, "forward": 0.05})
        worker.flush()
        return job.end()

    assert evaluate(with_rollouts(40)).episodes == ()
    assert evaluate(with_rollouts(0)).episodes


@pytest.mark.parametrize("phase", ["checkpoint", "evaluation"])
def test_checkpoints_and_evaluations_are_not_outliers(phase: str) -> None:
    seconds = durations(800)
    seconds[24::25] = 0.5
    assert evaluate(with_steps(seconds, slow_phase=phase)).episodes == ()


def test_profiled_steps_are_ignored() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(600):
        is_profiled = step % 25 == 24
        lasted = 0.5 if is_profiled else 0.1
        worker.step(step, {"forward": lasted}, profiled=is_profiled)
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    result = evaluate(with_steps(durations(30)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 30 of 60 steps"


def test_classic_setting_applies_the_documented_criterion() -> None:
    seconds = np.full(400, 0.1)
    seconds[10:210:20] = 1.0  # ten of them: not more than n_outliers
    assert evaluate(with_steps(seconds), setting="classic", stddev=3).episodes == ()
    seconds[399] = 1.0
    assert evaluate(with_steps(seconds), setting="classic", stddev=7).episodes == ()
    [episode] = evaluate(with_steps(seconds), setting="classic", stddev=3).episodes
    limit = seconds.mean() + 3 * seconds.std()
    assert episode.finding.evidence["limit_seconds"] == pytest.approx(limit)
    assert episode.finding.evidence["count"] == 11
    assert (episode.first_step, episode.last_step) == (10, 399)


@pytest.mark.parametrize(
    ("phase", "is_regular", "is_found"),
    [
        ("data_wait", True, True),
        ("data_wait", False, False),
        ("backward", True, False),
        ("collective", True, False),
    ],
)
def test_periodic_long_steps_in_a_short_job_are_found(
    phase: str, is_regular: bool, is_found: bool
) -> None:
    seconds = 0.1 * durations(500)
    indices = np.arange(24, 500, 25)
    if not is_regular:
        indices = indices - np.random.default_rng(0).integers(0, 14, len(indices))
    seconds[indices] = 0.12
    assert bool(evaluate(with_steps(seconds, phase)).episodes) is is_found


@pytest.mark.parametrize(("evaluation", "is_found"), [(0.0, True), (0.02, False)])
def test_periodic_long_steps_are_found_despite_noise_unless_they_evaluate(
    evaluation: float, is_found: bool
) -> None:
    """Evaluation within the long steps explains them."""
    job = FakeJob()
    worker = job.worker()
    busy = np.exp(0.9 * np.random.default_rng(0).standard_normal(500))
    for step in range(500):
        is_long = step % 20 == 0 and step > 0
        extra = {"between": 0.2, "evaluation": evaluation} if is_long else {}
        worker.step(step, {"forward": 0.008 * float(busy[step]), **extra})
    worker.flush()
    assert bool(evaluate(job.end()).episodes) is is_found
