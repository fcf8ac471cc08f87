"""The chart of training progress over time."""

from sonde.charts.progress import Progress
from sonde.records.chart import Lanes
from tests.fakes.job import FakeJob


def _stages(job: FakeJob) -> list[tuple[str, float, float]]:
    spec = Progress().build(job.job())
    assert isinstance(spec, Lanes)
    return [(span.label, span.start, span.end) for span in spec.lanes[0].spans]


def _trained() -> FakeJob:
    job = FakeJob()
    job.clock.advance(2)
    worker = job.worker()
    for step in range(4):
        worker.step(step, {"forward": 1.0})
    job.clock.advance(1)
    worker.beat()
    worker.flush()
    return job


def test_a_job_that_is_over_has_three_stages() -> None:
    assert _stages(_trained().end()) == [
        ("initialization", 0.0, 2.0),
        ("training loop", 2.0, 6.0),
        ("finalization", 6.0, 7.0),
    ]


def test_running_job_has_no_finalization() -> None:
    assert _stages(_trained())[-1] == ("training loop", 2.0, 7.0)


def test_a_command_without_training_has_no_progress_chart() -> None:
    job = FakeJob()
    job.clock.advance(3)
    assert Progress().build(job.end().job()) is None
