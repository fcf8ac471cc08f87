"""Jobs with several attempts and nodes: state, duration and inconsistent documents."""

from dataclasses import replace

from sonde.clock import NANOSECONDS
from sonde.read.jobs import JobFacts, read_job
from sonde.records.job import (
    Attempt,
    Exit,
    ExitReason,
    Heartbeat,
    JobState,
    Launcher,
    Overhead,
)
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from tests.fakes.clock import FakeClock
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob

COST = Overhead(0.1, 10, 60.0)


def put(job: FakeJob, node: str, number: int, start: float, end: float | None) -> None:
    """Record an attempt, in seconds since the start of the job; it is running if it has no end."""
    begin_ns = job.clock.now_ns()
    launcher = Launcher(1, "0", "elsewhere")
    start_ns = begin_ns + int(start * NANOSECONDS)
    attempt = Attempt(node, number, start_ns, ("x",), "/", 1, launcher, 0.5)
    job.backend.write(attempt_key(node, number, "start"), encode_facts(attempt))
    if end is None:
        beat = Heartbeat(start_ns, 5.0, COST, wall_ns=start_ns)
        job.backend.write(attempt_key(node, number, "heartbeat"), encode_facts(beat))
        return
    exit_ = Exit(JobState.COMPLETED, ExitReason.EXIT, begin_ns + int(end * NANOSECONDS), code=0)
    job.backend.write(attempt_key(node, number, "exit"), encode_facts(exit_))


def facts(job: FakeJob, seconds: float) -> JobFacts:
    return read_job(job.backend, job.clock.now_ns() + int(seconds * NANOSECONDS))


def test_the_duration_excludes_the_time_between_attempts() -> None:
    job = FakeJob(node="a")
    put(job, "a", 1, 0, 10)
    put(job, "a", 2, 1000, 1020)
    assert facts(job, 2000).seconds(0) == 30


def test_a_running_node_counts_even_if_another_node_was_resumed_alone() -> None:
    job = FakeJob(node="a")
    put(job, "a", 1, 0, 10)
    put(job, "b", 1, 0, None)
    put(job, "a", 2, 11, 12)
    assert facts(job, 2).state is JobState.RUNNING


def test_a_clock_change_on_the_node_does_not_make_its_job_lost() -> None:
    job = FakeJob(node="a")
    put(job, "a", 1, 0, None)
    beat = Heartbeat(job.clock.now_ns(), 5.0, COST, wall_ns=job.clock.now_ns() + 60 * NANOSECONDS)
    job.backend.write(attempt_key("a", 1, "heartbeat"), encode_facts(beat))
    assert facts(job, 61).state is JobState.RUNNING
    stale = replace(beat, wall_ns=None)
    job.backend.write(attempt_key("a", 1, "heartbeat"), encode_facts(stale))
    assert facts(job, 61).state is JobState.LOST


def test_an_attempt_document_of_another_node_is_rejected() -> None:
    job = FakeJob(node="a")
    hostile = Attempt("../../x", 1, 0, ("x",), "/", 1, Launcher(1, "0", "elsewhere"), 0.5)
    job.backend.write(attempt_key("a", 1, "start"), encode_facts(hostile))
    result = facts(job, 1)
    assert result.nodes == ()
    assert any("belongs to another node" in text for text in result.damages)


def test_a_copied_folder_is_a_job_with_the_name_of_the_folder() -> None:
    clock = FakeClock()
    job = FakeJob("memory://copies/original", clock=clock)
    copy = FakeJob("memory://copies/copy", clock=clock)
    copy.backend.write("job.json", job.backend.read("job.json"))
    assert facts(copy, 0).name == "copy"


def test_damage_to_samples_is_in_the_summary_after_reading_them() -> None:
    job = FakeJob().record({"cpu": range(8)}).end()
    [key] = job.stored(".frames")
    content = job.backend.read(key)
    job.backend.write(key, flipped(content, 8 * (len(content) - 3)))
    opened = job.job()
    opened.system().statistics()
    assert [item["reason"] for item in opened.summary["lost"]] == ["damaged"]
