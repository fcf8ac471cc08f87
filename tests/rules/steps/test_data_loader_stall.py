"""DataLoaderStall: jobs with the fault and similar healthy jobs."""

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("DataLoaderStall")["DataLoaderStall"]


def stalled(waits: dict[int, float], steps: int = 200, starts: tuple[int, ...] = ()) -> FakeJob:
    """A job that waits 1 ms for each batch, except at the steps in `waits`."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        if step in starts:
            detail = {"num_workers": 2}
            lane = "loader 1"
            worker.operation("iterator start", "loading", 0.0, 0.001, lane=lane, detail=detail)
        worker.step(step, {"data_wait": waits.get(step, 0.001), "forward": 0.05})
    worker.flush()
    return job.end()


def test_a_long_wait_is_found_with_its_step() -> None:
    [episode] = evaluate(stalled({123: 5.0})).episodes
    assert (episode.first_step, episode.last_step) == (123, 123)
    assert "waited 5 s for the batch of step 123" in episode.finding.message
    assert episode.severity is Severity.WARNING


def test_a_stall_with_little_lost_time_is_info() -> None:
    [episode] = evaluate(stalled({4000: 3.0}, steps=4100)).episodes
    assert episode.severity is Severity.INFO


def test_short_waits_and_first_steps_are_healthy() -> None:
    for waits in ({123: 1.0}, {0: 30.0, 5: 9.0}, {}):
        result = evaluate(stalled(waits))
        assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_the_start_of_an_iterator_is_healthy() -> None:
    waits = {100: 6.0, 101: 3.0}
    assert evaluate(stalled(waits, starts=(100,))).episodes == ()
    assert evaluate(stalled(waits)).episodes


def test_waits_are_compared_with_the_step_time() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        worker.step(step, {"data_wait": 4.0 if step == 60 else 0.1, "forward": 2.0})
    worker.flush()
    assert evaluate(job.end()).episodes == ()


def quick_loop(stall: float, steps: int = 600) -> FakeJob:
    """A job with steps of 8 ms and a single long wait."""
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.step(step, {"data_wait": stall if step == 300 else 0.001, "forward": 0.007})
    worker.flush()
    return job.end()


def test_a_stall_in_a_fast_loop_is_found() -> None:
    [episode] = evaluate(quick_loop(0.8)).episodes
    assert (episode.first_step, episode.severity) == (300, Severity.WARNING)


def test_a_short_pause_in_a_fast_loop_is_healthy() -> None:
    assert evaluate(quick_loop(0.3)).episodes == ()
