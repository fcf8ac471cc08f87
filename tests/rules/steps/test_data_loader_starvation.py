"""DataLoaderStarvation: jobs with the fault and similar healthy jobs."""

from collections.abc import Callable

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob, series_of

STEPS = 200


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("DataLoaderStarvation")["DataLoaderStarvation"]


def waiting(
    wait: Callable[[int], float],
    computing: float = 0.05,
    starts: tuple[int, ...] = (0,),
    processes: int = 0,
    device: str = "cpu",
    steps: int = STEPS,
) -> FakeJob:
    """A job whose steps wait for data; iterators start at the steps in `starts`."""
    job = FakeJob()
    worker = job.worker(device=device)
    facts = {"num_workers": processes, "cores": 8}
    for step in range(steps):
        if step in starts:
            lane = "loader 1"
            worker.operation("iterator start", "loading", 0.0, 0.001, lane=lane, detail=facts)
        worker.step(step, {"data_wait": wait(step), "forward": computing})
    worker.flush()
    return job.end()


def test_waiting_for_data_is_found_with_its_cost_and_advice() -> None:
    [episode] = evaluate(waiting(lambda _: 0.05)).episodes
    evidence = episode.finding.evidence
    assert evidence["lost_percent"] == pytest.approx(50, abs=1)
    assert evidence["seconds_per_step_to_win"] == pytest.approx(0.05)
    assert "num_workers=0" in episode.finding.message
    assert "(num_workers=2) would keep up" in episode.finding.advice
    assert "gpu_hours_lost" not in evidence


def test_lost_gpu_hours_are_reported_on_a_gpu() -> None:
    [episode] = evaluate(waiting(lambda _: 0.05, device="cuda:0")).episodes
    assert float(str(episode.finding.evidence["gpu_hours_lost"])) > 0


def test_waits_of_every_fourth_batch_are_found() -> None:
    job = waiting(lambda step: 0.3 if step % 4 == 0 else 0.0, processes=4)
    [episode] = evaluate(job).episodes
    assert "4 loader processes prepare it. 8 loader processes" in episode.finding.advice


def test_more_processes_than_cores_are_not_advised() -> None:
    [episode] = evaluate(waiting(lambda _: 2.0)).episodes
    assert "(num_workers=8) would help; also make batches cheaper" in episode.finding.advice


def test_cheaper_batches_are_advised_if_every_core_has_a_process() -> None:
    [episode] = evaluate(waiting(lambda _: 2.0, processes=8)).episodes
    assert "there are only 8 cores: make batches cheaper" in episode.finding.advice


HEALTHY: dict[str, Callable[[int], float]] = {
    "short waits": lambda _: 0.01,
    "no waits": lambda _: 0.0,
    "one long wait in every twenty": lambda step: 2.0 if step % 20 == 7 else 0.001,
    "waits at a few steps": lambda step: 0.2 if 60 <= step < 95 else 0.001,
    "first steps": lambda step: 3.0 if step < 10 else 0.001,
}


@pytest.mark.parametrize("name", HEALTHY)
def test_loaders_that_keep_up_are_not_reported(name: str) -> None:
    result = evaluate(waiting(HEALTHY[name]))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_very_short_waits_of_a_tiny_model_are_not_reported() -> None:
    assert evaluate(waiting(lambda _: 0.002, computing=0.001)).episodes == ()


def test_the_start_of_an_iterator_does_not_count() -> None:
    starts = tuple(range(0, STEPS, 10))
    job = waiting(lambda step: 1.0 if step in starts else 0.001, starts=starts)
    assert evaluate(job).episodes == ()
    assert evaluate(waiting(lambda step: 1.0 if step % 10 == 0 else 0.001)).episodes


def test_evaluation_and_checkpoints_do_not_count() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(STEPS):
        extra = {"evaluation": 1.0, "checkpoint": 1.0} if step % 50 == 49 else {}
        worker.step(step, {"data_wait": 0.01, "forward": 0.05, **extra})
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def test_starvation_is_resolved_when_data_arrives_in_time() -> None:
    [episode] = evaluate(waiting(lambda step: 0.05 if step < 90 else 0.0)).episodes
    assert not episode.is_open


def test_a_short_job_reports_how_much_data_is_missing() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(30):
        worker.step(step, {"data_wait": float(np.float64(0.1)), "forward": 0.05})
    worker.flush()
    result = evaluate(job.end())
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 20 of 60 steps after the first 10"


@pytest.mark.parametrize(("pressure", "is_found"), [(95.0, False), (10.0, True)])
def test_short_waits_due_to_cpu_contention_are_not_reported(
    pressure: float, is_found: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    series = (series_of("process_tree.cpu_percent"), series_of("pressure.cpu_some_percent"))
    for step in range(STEPS):
        if step % 10 == 0:
            job.writer.add_sample(job.clock.now_ns(), series, (35.0, pressure))
        worker.step(step, {"data_wait": 0.012, "forward": 0.005})
    worker.flush()
    assert bool(evaluate(job.end()).episodes) is is_found


@pytest.mark.parametrize(("threads", "is_found"), [(34.0, False), (3.0, True)])
def test_a_low_core_share_is_a_disk_wait_unless_many_threads_are_runnable(
    threads: float, is_found: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    names = (
        *("process_tree.cpu_percent", "pressure.cpu_some_percent", "cpu.running_threads"),
        *("cpu.utilization_percent/0", "cpu.utilization_percent/1"),
    )
    series = tuple(series_of(name) for name in names)
    for step in range(STEPS):
        if step % 5 == 0:
            sample = (8.0, 99.0, threads, 100.0, 100.0)
            job.writer.add_sample(job.clock.now_ns(), series, sample)
        worker.step(step, {"data_wait": 0.06, "forward": 0.04})
    worker.flush()
    assert bool(evaluate(job.end()).episodes) is is_found


@pytest.mark.parametrize(
    ("cpu", "processes", "is_found"), [(22, 2, False), (22, 0, True), (70, 2, True)]
)
def test_the_core_share_is_divided_among_loader_processes(
    cpu: float, processes: int, is_found: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    names = (
        *("process_tree.cpu_percent", "pressure.cpu_some_percent", "cpu.running_threads"),
        *("cpu.utilization_percent/0", "cpu.utilization_percent/1"),
    )
    series = tuple(series_of(name) for name in names)
    facts = {"num_workers": processes, "cores": 2}
    worker.operation("iterator start", "loading", 0.0, 0.001, lane="loader 1", detail=facts)
    for step in range(STEPS):
        if step % 5 == 0:
            job.writer.add_sample(job.clock.now_ns(), series, (cpu, 99.0, 25.0, 100.0, 100.0))
        worker.step(step, {"data_wait": 0.04, "forward": 0.03})
    worker.flush()
    assert bool(evaluate(job.end()).episodes) is is_found


def test_short_waits_that_take_most_of_a_fast_loop_are_info() -> None:
    [episode] = evaluate(waiting(lambda _: 0.003, computing=0.001)).episodes
    assert episode.severity is Severity.INFO
    assert "spends 75% of its step time" in episode.finding.message


@pytest.mark.parametrize(("wait", "computing"), [(0.002, 0.0002), (0.003, 0.004)])
def test_short_waits_with_a_small_share_are_healthy(wait: float, computing: float) -> None:
    assert evaluate(waiting(lambda _: wait, computing=computing)).episodes == ()


@pytest.mark.parametrize(("steps", "wait", "starts"), [(40, 0.275, (0,)), (60, 0.16, (0, 30))])
def test_a_short_job_that_waits_for_seconds_from_the_start_is_reported(
    steps: int, wait: float, starts: tuple[int, ...]
) -> None:
    job = waiting(lambda _: wait, computing=0.003, starts=starts, processes=1, steps=steps)
    [episode] = evaluate(job).episodes
    assert episode.severity is Severity.WARNING
    assert "Its loader uses num_workers=1." in episode.finding.message
    assert float(str(episode.finding.evidence["lost_seconds"])) >= 3


SHORT_HEALTHY: dict[str, FakeJob] = {
    "slow first steps": waiting(lambda step: 2.0 if step < 10 else 0.001, steps=40),
    "two processes start slowly in each epoch": waiting(
        lambda step: 3.0 if step % 20 < 2 else 0.001, starts=(0, 20), processes=2, steps=40
    ),
    "one stall": waiting(lambda step: 9.0 if step == 25 else 0.001, steps=40),
    "waits of less than half of the time": waiting(lambda _: 0.01, computing=0.05, steps=40),
}


@pytest.mark.parametrize("name", SHORT_HEALTHY)
def test_a_short_job_with_a_slow_loader_start_is_not_reported(name: str) -> None:
    result = evaluate(SHORT_HEALTHY[name])
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_waiting_that_begins_later_needs_three_windows() -> None:
    job = waiting(lambda step: 0.3 if 60 <= step < 95 else 0.001, steps=95)
    assert evaluate(job).episodes == ()


def test_an_explicit_number_of_windows_applies_to_short_jobs() -> None:
    job = waiting(lambda _: 0.3, computing=0.003, steps=40).job()
    assert not job.check("DataLoaderStarvation", in_a_row=3)["DataLoaderStarvation"].episodes
    assert job.check("DataLoaderStarvation", in_a_row=1)["DataLoaderStarvation"].episodes
