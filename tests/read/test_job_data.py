"""The data of a job that rules share: read once, until the next refresh."""

from sonde.clock import NANOSECONDS
from sonde.read.job_data import JobData
from sonde.read.open_job import OpenJob
from sonde.records.ranges import StepRange
from tests.fakes.job import FakeJob


def data_of(job: FakeJob) -> JobData:
    return JobData(OpenJob(job.backend, job.clock))


def trained(steps: int = 20) -> FakeJob:
    job = FakeJob()
    worker = job.worker()
    for step in range(steps):
        worker.scalar("loss", step, float(step)).step(step, {"forward": 1.0})
        worker.add_tensor("weight", "weights").statistics("weight", step, [float(step)])
    worker.flush()
    return job


def test_all_rules_get_the_same_rows_until_a_refresh() -> None:
    job = trained()
    data = data_of(job)
    [attempt] = data.attempts
    steps = data.steps(attempt, 0, "train")
    assert data.steps(attempt, 0, "train") is steps
    assert data.scalars(attempt, 0) is data.scalars(attempt, 0)
    job.worker().step(20, {"forward": 1.0}).flush()
    assert len(data.steps(attempt, 0, "train").steps) == 20
    data.refresh()
    [attempt] = data.attempts
    assert len(data.steps(attempt, 0, "train").steps) == 21


def test_a_refresh_drops_data_that_is_no_longer_needed() -> None:
    job = trained(60)
    data = data_of(job)
    data.refresh(job.clock.now_ns() - 5 * NANOSECONDS)
    [attempt] = data.attempts
    recent = data.steps(attempt, 0, "train").steps
    assert recent[-1] == 59
    assert len(recent) < 20
    data.extend_back(None)
    assert data.since_ns is None
    assert len(data.steps(attempt, 0, "train").steps) == 60


def test_a_view_of_recent_data_is_shared_between_rules() -> None:
    job = trained(60)
    data = data_of(job)
    assert data.view_since(job.clock.now_ns()) is data  # all data is read anyway
    data.refresh(job.clock.now_ns() - 50 * NANOSECONDS)
    start_ns = job.clock.now_ns() - 5 * NANOSECONDS
    view = data.view_since(start_ns)
    assert view is data.view_since(start_ns)
    [attempt] = data.attempts
    lengths = [len(source.steps(attempt, 0, "train").steps) for source in (view, data)]
    assert 5 <= lengths[0] < lengths[1]


def test_scalars_are_ordered_by_step_in_training_and_by_time_in_evaluation() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in (2, 0, 1):
        worker.scalar("loss", step, float(step)).scalar("loss", step, 10.0 + step, mode="eval")
        job.clock.advance(1)
    worker.flush()
    data = data_of(job)
    [attempt] = data.attempts
    [training] = data.scalars_named(attempt, 0, "train", ("loss",))
    [evaluation] = data.scalars_named(attempt, 0, "eval", ("loss",))
    assert training.values.tolist() == [0.0, 1.0, 2.0]
    assert evaluation.values.tolist() == [12.0, 10.0, 11.0]
    assert data.scalars_named(attempt, 0, "train", ("accuracy",)) == ()


def test_observations_are_selected_by_pattern() -> None:
    job = FakeJob()
    worker = job.worker()
    for kind in ("module-mode", "module-use", "label-batch"):
        worker.observation(kind, "model", 0)
    worker.flush()
    data = data_of(job)
    [attempt] = data.attempts
    matching = data.matching_observations(attempt, 0, "module-*")
    assert sorted(rows.kind for rows in matching) == ["module-mode", "module-use"]


def test_the_members_of_a_collection_are_its_tensors() -> None:
    data = data_of(trained())
    assert set(data.members("weights")) == set(data.members("all")) == {"weight"}
    assert data.members("biases") == {}


def test_statistics_of_a_range_of_steps_are_cached() -> None:
    data = data_of(trained())
    [attempt] = data.attempts
    rows = data.statistics(attempt, 0, "train", StepRange(5, 8))
    assert rows["weight"].steps.tolist() == [5, 6, 7]
    assert data.statistics(attempt, 0, "train", StepRange(5, 8)) is rows


def test_another_job_of_the_store_is_read_by_name() -> None:
    job = trained()
    data = data_of(job)
    other = data.other_job(job.backend.uri)
    assert other is data.other_job(job.backend.uri)
    assert len(other.steps(other.attempts[0], 0, "train").steps) == 20
