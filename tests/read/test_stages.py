"""Stages add up to the duration of the job, for any number of attempts."""

import pytest

from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts, read_job
from sonde.read.stages import StageSpan, StepMarks, find_stages, read_marks
from sonde.read.workers import WorkerReader
from sonde.records.job import Attempt, Exit, ExitReason, JobState, Launcher
from sonde.records.notice import Notice, NoticeKind
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from tests.fakes.clock import START_NS
from tests.fakes.job import FakeJob

STEP = {"forward": 1.0}


def marks_of(job: FakeJob, facts: JobFacts) -> list[StepMarks]:
    readers = [WorkerReader(job.backend, int(rank), facts.lives) for rank in facts.workers]
    return [read_marks(reader) for reader in readers]


def stages(job: FakeJob) -> tuple[StageSpan, ...]:
    now_ns = job.clock.now_ns()
    facts = read_job(job.backend, now_ns)
    spans = find_stages(facts, marks_of(job, facts), now_ns)
    if spans:
        assert sum(stage.seconds for stage in spans) == pytest.approx(facts.seconds(now_ns))
        assert sum(stage.percent for stage in spans) == pytest.approx(100)
    return spans


def seconds(job: FakeJob) -> list[float]:
    return [stage.seconds for stage in stages(job)]


def since_start(instant_ns: int | None) -> float | None:
    return None if instant_ns is None else (instant_ns - START_NS) / NANOSECONDS


def trained() -> FakeJob:
    """Record 3 s of initialization, two steps of 1 s and 4 s of finalization."""
    job = FakeJob()
    job.clock.advance(3)
    job.worker().step(0, STEP).step(1, STEP).flush()
    job.clock.advance(4)
    return job


def resumed() -> FakeJob:
    """Record the same, and 3 s of initialization in a second attempt."""
    job = trained().end()
    job.clock.advance(1000)  # time between attempts
    start_ns = job.clock.now_ns()
    attempt = Attempt("node-a", 2, start_ns, ("x",), "/", 1, Launcher(1, "0", "elsewhere"), 0.5)
    job.backend.write(attempt_key("node-a", 2, "start"), encode_facts(attempt))
    job.clock.advance(3)
    return job


def end_again(job: FakeJob) -> FakeJob:
    """End the second attempt with 1 s of finalization."""
    job.clock.advance(1)
    over = Exit(JobState.COMPLETED, ExitReason.EXIT, job.clock.now_ns(), code=0)
    job.backend.write(attempt_key("node-a", 2, "exit"), encode_facts(over))
    return job


def test_training_lasts_from_the_first_step_to_the_end_of_the_last() -> None:
    spans = stages(trained().end())
    assert [stage.stage.value for stage in spans] == [
        *("initialization", "training_loop", "finalization"),
    ]
    assert [stage.seconds for stage in spans] == [3.0, 2.0, 4.0]
    assert (since_start(spans[1].start_ns), since_start(spans[1].end_ns)) == (3.0, 5.0)
    assert since_start(spans[2].end_ns) == 9.0


@pytest.mark.parametrize(
    ("begin", "end", "is_known"),
    [(0.0, 2.0, False), (3.5, 4.5, True), (4.5, 6.0, False), (0.0, 9.0, False)],
)
def test_stages_are_unknown_if_steps_outside_the_recorded_ones_were_lost(
    begin: float, end: float, is_known: bool
) -> None:
    job = trained()
    times_ns = (START_NS + int(instant * NANOSECONDS) for instant in (begin, end))
    job.writer.report_lost(Notice(NoticeKind.LOST_STEPS, "events", "disk full", *times_ns))
    job.writer.report_lost(Notice(NoticeKind.LOST, "scalars", "disk full", START_NS, START_NS))
    job.flush().end()
    assert bool(stages(job)) is is_known


def test_training_of_a_running_job_lasts_until_now() -> None:
    spans = stages(trained())
    assert [stage.seconds for stage in spans] == [3.0, 6.0, 0.0]
    assert spans[1].end_ns is None


def test_training_ends_when_the_worker_reports_its_end() -> None:
    job = FakeJob()
    worker = job.worker().step(0, STEP).flush()
    worker.beat(is_over=True)
    job.clock.advance(3)
    assert seconds(job) == [0.0, 1.0, 3.0]


def test_the_first_start_and_the_last_end_of_all_workers_count() -> None:
    job = FakeJob()
    early, late = job.worker(0), job.worker(1)
    job.clock.advance(1)
    early.step(0, STEP).flush()
    late.step(0, {"forward": 5.0}).flush()
    job.clock.advance(1)
    assert seconds(job.end()) == [1.0, 6.0, 1.0]


def test_evaluation_before_and_after_training_is_not_in_the_training_loop() -> None:
    job = FakeJob()
    worker = job.worker().step(0, STEP, mode="eval").step(0, STEP).step(1, STEP, mode="eval")
    worker.flush()
    assert seconds(job.end()) == [1.0, 1.0, 1.0]


def test_without_training_steps_other_steps_are_the_training_loop() -> None:
    job = FakeJob()
    job.clock.advance(1)
    job.worker().step(0, STEP, mode="predict").flush()
    assert seconds(job.end()) == [1.0, 1.0, 0.0]


def test_a_worker_without_steps_is_in_initialization() -> None:
    job = FakeJob()
    job.worker()
    job.clock.advance(3)
    assert seconds(job) == [3.0, 0.0, 0.0]
    assert seconds(job.end()) == [3.0, 0.0, 0.0]


def test_a_job_that_does_not_train_has_no_stages() -> None:
    assert stages(FakeJob().end()) == ()


def test_stages_of_several_attempts_are_summed() -> None:
    job = resumed()
    job.worker(attempt=2).step(1, STEP).step(2, STEP).flush()
    assert seconds(end_again(job)) == [6.0, 4.0, 5.0]


def test_a_step_that_began_before_its_worker_registered_is_in_its_attempt() -> None:
    job = resumed()
    worker = job.worker(attempt=2).span("step", -0.5, 2.5, step=2, category="step").flush()
    worker.clock.advance(2)
    assert seconds(end_again(job)) == [5.5, 4.5, 5.0]


def test_a_repeated_step_counts_once() -> None:
    job = FakeJob()
    job.worker().step(0, STEP).step(1, STEP).step(0, STEP, mode="eval").flush()
    job.worker(attempt=2).step(1, STEP).step(2, STEP).flush()
    [marks] = marks_of(job, read_job(job.backend, job.clock.now_ns()))
    assert (marks.count("train"), marks.count("eval"), marks.count("predict")) == (3, 1, 0)


def test_a_stage_shorter_than_its_boundaries_are_known_has_no_duration() -> None:
    job = FakeJob()
    job.clock.advance(3)
    job.worker().step(0, STEP).flush()
    job.clock.advance(133e-9)
    job.end()
    assert seconds(job)[2] == 0.0
    assert seconds(job)[0] == pytest.approx(3.0)
