"""Facts about jobs, including jobs with damaged documents."""

import threading
from pathlib import Path

import pytest

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, FormatTooNewError, StoreError
from sonde.read.jobs import JobFacts, has_begun, list_job_names, read_job
from sonde.read.opening import read_in_time
from sonde.records.job import Heartbeat, JobInfo, JobState, Overhead
from sonde.records.notice import NoticeKind
from sonde.store.backends import open_backend
from sonde.store.facts import encode_facts
from sonde.store.layout import JOB, attempt_key
from tests.fakes.clock import START_NS
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob


def facts(job: FakeJob, seconds: float = 0) -> JobFacts:
    return read_job(job.backend, job.clock.now_ns() + int(seconds * NANOSECONDS))


def test_a_finished_job_has_its_exit_and_end_time() -> None:
    job = FakeJob()
    job.clock.advance(60)
    snapshot = facts(job.end(JobState.FAILED))

    assert snapshot.state is JobState.FAILED
    assert (snapshot.start_ns, snapshot.end_ns) == (START_NS, START_NS + 60 * NANOSECONDS)
    assert snapshot.seconds(0) == 60
    assert snapshot.decisive is not None
    assert snapshot.nodes == ("node-a",)


def test_a_job_without_heartbeats_is_lost_since_the_last_one() -> None:
    job = FakeJob()
    beat = Heartbeat(START_NS + 5 * NANOSECONDS, 5.0, Overhead(0.5, 100, 5))
    job.backend.write(attempt_key("node-a", 1, "heartbeat"), encode_facts(beat))
    assert facts(job, 10).state is JobState.RUNNING

    snapshot = facts(job, 100)

    assert snapshot.state is JobState.LOST
    assert snapshot.end_ns == START_NS + 5 * NANOSECONDS


def test_a_job_is_running_while_any_node_is() -> None:
    first = FakeJob()
    FakeJob(first.backend.uri, "node-b")
    first.end()

    assert facts(first).state is JobState.RUNNING
    assert facts(first).nodes == ("node-a", "node-b")


def test_a_finished_job_has_the_worst_state_of_its_nodes() -> None:
    first = FakeJob()
    FakeJob(first.backend.uri, "node-b").end(JobState.FAILED)
    first.end()

    assert facts(first).state is JobState.FAILED


def test_a_job_that_was_just_created_is_starting() -> None:
    job = FakeJob()
    job.backend.delete([attempt_key("node-a", 1, "start")])

    assert facts(job).state is JobState.STARTING
    assert facts(job, 60).state is JobState.LOST


@pytest.mark.parametrize("what", ["start", "exit", "heartbeat", "surroundings"])
def test_a_damaged_document_is_skipped_and_reported(what: str) -> None:
    job = FakeJob().end()
    key = attempt_key("node-a", 1, what)
    job.backend.write(key, flipped(encode_facts(JobInfo("a", 1, "b")), 99))

    snapshot = facts(job)

    assert len(snapshot.damages) == 1
    assert key in snapshot.damages[0]


def test_without_a_readable_job_document_the_name_is_that_of_the_folder() -> None:
    job = FakeJob()
    job.backend.write(JOB, b"{}")

    snapshot = facts(job)

    assert snapshot.name == "job"
    assert snapshot.info is None
    assert len(snapshot.damages) == 1


@pytest.mark.parametrize("source", [None, "exit.json"])
def test_job_with_a_damaged_first_document_is_listed_as_broken(source: str | None) -> None:
    job = FakeJob().end()
    exit_ = job.backend.read(attempt_key("node-a", 1, "exit"))
    job.backend.write(JOB, b"[" * 100_000 if source is None else exit_)

    snapshot = facts(job)

    assert snapshot.state is JobState.COMPLETED
    with pytest.raises(DamagedError, match=r"job\.json is .*`sonde status` shows"):
        snapshot.check_readable()


def test_job_without_its_first_document_is_listed_with_its_state() -> None:
    job = FakeJob().end()
    job.backend.delete([JOB])

    assert facts(job).check_readable().state is JobState.COMPLETED


def test_a_job_of_a_newer_format_is_refused_with_advice_to_upgrade(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sonde.store.facts.FORMAT_VERSION", 2)
    job = FakeJob()

    with pytest.raises(FormatTooNewError, match=r"job\.json .*pip install -U sonde"):
        facts(job)


def test_notices_of_all_nodes_are_listed() -> None:
    first = FakeJob()
    second = FakeJob(first.backend.uri, "node-b")
    for number, job in enumerate((first, second)):
        job.writer.notice(NoticeKind.CHANGED, f"what {number}", "why")
        job.flush()

    assert [notice.what for notice in facts(first).notices] == ["what 0", "what 1"]


def test_a_damaged_notice_is_reported() -> None:
    job = FakeJob()
    job.writer.notice(NoticeKind.CHANGED, "interval", "set")
    job.flush()
    (key,) = job.stored(".frames")
    data = job.backend.read(key)
    job.backend.write(key, flipped(data, 8 * len(data) - 3))

    snapshot = facts(job)

    assert snapshot.notices == ()
    assert len(snapshot.damages) == 1


def test_folders_that_are_not_jobs_are_not_listed(tmp_path: object) -> None:
    FakeJob(f"{tmp_path}/b")
    FakeJob(f"{tmp_path}/a")
    FakeJob(f"{tmp_path}/.hidden")
    FakeJob(f"{tmp_path}/without-job-json").backend.delete([JOB])
    open_backend(f"{tmp_path}/other").write("nodes/readme.txt", b"something else")
    open_backend(f"{tmp_path}/mine").write("nodes/a/attempt-001/readme.txt", b"something else")

    assert list_job_names(str(tmp_path)) == ["a", "b", "without-job-json"]


def test_a_job_that_never_started_is_not_listed(tmp_path: Path) -> None:
    FakeJob(f"{tmp_path}/begun")
    young, phantom, broken = (open_backend(f"{tmp_path}/{name}") for name in "abc")
    for backend, age_seconds in ((young, 5), (phantom, 60), (broken, 60)):
        info = JobInfo("job", START_NS - age_seconds * NANOSECONDS, "node-a")
        backend.create(JOB, encode_facts(info, JOB))
    broken.write("workers/0/attempt-001.0/start.json", b"")

    backends = {path.name: open_backend(str(path)) for path in tmp_path.iterdir()}
    listed = {
        name for name, notice in backends.items() if has_begun(notice, read_job(notice, START_NS))
    }

    assert listed == {"begun", "a", "c"}


def test_reading_a_job_has_a_time_limit(tmp_path: Path) -> None:
    backend, held = open_backend(f"{tmp_path}/job"), threading.Event()
    with pytest.raises(
        DamagedError, match=r"Cannot read job 'job': reading takes longer than 100 ms"
    ):
        read_in_time(backend, held.wait, 0.1)
    held.set()
    assert read_in_time(backend, held.wait, 10.0)


def test_errors_are_reported_when_reading_with_a_time_limit(tmp_path: Path) -> None:
    def fail() -> None:
        raise StoreError("no answer")

    with pytest.raises(StoreError, match="no answer"):
        read_in_time(open_backend(f"{tmp_path}/job"), fail, 10.0)
