"""The list of jobs: search, filters, order and pages."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.read.jobs import JobFacts, read_job
from sonde.records.finding import Finding, Severity
from sonde.records.job import ExitReason, JobState
from sonde.results import job_summary
from sonde.store.backends import Backend
from sonde.web import catalog
from sonde.web.catalog import Catalog
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.stores import many_jobs, write_findings
from tests.web.served import served


@pytest.fixture
def three(tmp_path: Path) -> Catalog:
    """Three jobs in order of their start; the second failed, the third took longest."""
    clock = FakeClock()
    for name, seconds in (("resnet-b", 10), ("bert", 20), ("resnet-a", 30)):
        job = FakeJob(str(tmp_path / name), clock=clock)
        worker = job.worker()
        for step in range(200):
            worker.scalar("loss", step, 200.0 - step)
        worker.flush().beat()
        clock.advance(seconds)
        job.end(JobState.FAILED if name == "bert" else JobState.COMPLETED)
    write_findings(job.backend, [Finding("Overfit", Severity.WARNING, "It learns by heart.")])
    return Catalog(str(tmp_path), clock)


@pytest.mark.parametrize(
    ("search", "state", "sort", "expected"),
    [
        ("", "", "-start", ["resnet-a", "bert", "resnet-b"]),
        ("", "", "start", ["resnet-b", "bert", "resnet-a"]),
        ("", "", "name", ["bert", "resnet-a", "resnet-b"]),
        ("RES -a", "", "name", ["resnet-a"]),
        ("heart", "", "name", ["resnet-a"]),
        ("", "failed", "name", ["bert"]),
        ("", "over", "-duration", ["resnet-a", "bert", "resnet-b"]),
        ("", "running", "name", []),
        ("", "", "-findings", ["resnet-a", "resnet-b", "bert"]),
        ("", "", "state", ["resnet-a", "resnet-b", "bert"]),
    ],
)
def test_jobs_are_found_and_sorted(
    three: Catalog, search: str, state: str, sort: str, expected: list[str]
) -> None:
    assert three.find(search, state, sort) == expected


def test_a_row_has_the_state_findings_and_loss_curve_of_a_job(three: Catalog) -> None:
    (row,) = three.rows(["resnet-a"])
    assert (row["state"], row["duration_seconds"], row["nodes"]) == ("completed", 30.0, 1)
    assert (row["worst"], row["findings"]) == ("warning", {"warning": 1})
    assert "Overfit" in row["finding"]
    assert len(row["spark"]["values"]) == 60
    assert row["spark"]["values"][0] > row["spark"]["values"][-1]


@pytest.mark.parametrize("reported", [0, 5], ids=["it has told nothing", "it has told of fewer"])
def test_a_killed_job_shows_the_steps_that_it_wrote(tmp_path: Path, reported: int) -> None:
    job = FakeJob(str(tmp_path / "killed"))
    worker = job.worker()
    for step in range(12):
        worker.step(step, {"forward": 60.0})
        if step + 1 == reported:
            worker.beat()
    worker.step(0, {"forward": 1.0}, mode="eval").flush()
    job.fail(ExitReason.SIGNAL, "killed", code=-9)
    (row,) = Catalog(str(tmp_path), job.clock).rows(["killed"])
    assert row["steps"] == {"train": 12, "eval": 1}


def test_the_step_count_of_a_finished_worker_comes_from_its_heartbeat(tmp_path: Path) -> None:
    job = FakeJob(str(tmp_path / "done"))
    worker = job.worker()
    worker.step(0, {"forward": 1.0}).flush().beat(is_over=True)
    worker.step(1, {"forward": 1.0}).flush()
    (row,) = Catalog(str(tmp_path), job.end().clock).rows(["done"])
    assert row["steps"] == {"train": 1}


def test_only_jobs_on_the_requested_page_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_jobs(str(tmp_path), 200, is_summarized=False)
    reads: list[str] = []

    def counted(backend: Backend, now_ns: int) -> JobFacts:
        reads.append(backend.uri)
        return read_job(backend, now_ns)

    monkeypatch.setattr(job_summary, "read_job", counted)
    client = served(str(tmp_path), FakeClock())
    answer = client.get("/api/jobs?limit=20&offset=40").json()
    assert (len(answer["jobs"]), answer["total"]) == (20, 200)
    assert answer["jobs"][0]["name"] == "job-00159"
    assert len(reads) == 20
    client.get("/api/jobs?limit=20&offset=40")
    assert len(reads) == 20


def test_removed_jobs_leave_the_list_and_new_ones_join_it(tmp_path: Path) -> None:
    clock = FakeClock()
    for name in ("one", "two"):
        FakeJob(str(tmp_path / name), clock=clock).end()
    jobs = Catalog(str(tmp_path), clock)
    assert jobs.find("", "", "name") == ["one", "two"]
    FakeJob(str(tmp_path / "three"), clock=clock).end()
    FakeJob(str(tmp_path / "one"), clock=clock).backend.erase()
    clock.advance(5)
    assert jobs.find("", "", "name") == ["three", "two"]
    assert [row["name"] for row in jobs.rows(["one", "two"])] == ["two"]


def test_a_damaged_job_is_listed_and_does_not_affect_others(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "good")).end()
    FakeJob(str(tmp_path / "bad")).end()
    (tmp_path / "bad" / "job.json").write_bytes(b'{"crc32": "zz",\n"format": 99}')
    jobs = Catalog(str(tmp_path), FakeClock())
    rows = jobs.rows(jobs.find("", "", "name"))
    assert [row["name"] for row in rows] == ["bad", "good"]
    assert rows[1]["state"] == "completed"


def test_a_search_does_not_read_cached_jobs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_jobs(str(tmp_path), 50)
    jobs = Catalog(str(tmp_path), FakeClock())
    jobs.read_ahead()
    monkeypatch.setattr(job_summary, "read_job", None)
    assert len(jobs.find("", "failed", "-findings")) == 25


def _slow(clock: FakeClock, looked: list[str]) -> Callable[[Backend, int], JobFacts]:
    """Return a slow `read_job`, so that reading all jobs exceeds the time limit."""

    def read(backend: Backend, now_ns: int) -> JobFacts:
        looked.append(backend.uri.rpartition("/")[2])
        clock.advance(0.1)
        return read_job(backend, now_ns)

    return read


def test_a_large_search_matches_names_first_and_completes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_jobs(str(tmp_path), 100, is_summarized=False)
    clock, reads = FakeClock(), list[str]()
    jobs = Catalog(str(tmp_path), clock)
    monkeypatch.setattr(job_summary, "read_job", _slow(clock, reads))
    assert jobs.find("job-00007", "", "name") == ["job-00007"]
    assert 0 < len(reads) < 100
    assert "job-00099" in reads  # the latest first
    assert jobs.unread == 100 - len(reads)
    failed = jobs.find("", "failed", "name")
    assert len(failed) < 50
    while jobs.unread:
        failed = jobs.find("", "failed", "name")
    assert len(failed) == 50
    assert len(reads) == 100


def test_an_unreadable_job_is_found_as_broken(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "good")).end()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "job.json").write_bytes(b"{}")
    jobs = Catalog(str(tmp_path), FakeClock())
    assert jobs.find("good", "", "name") == ["good"]
    assert jobs.find("", "broken", "name") == ["bad"]
    assert jobs.unread == 0


def test_a_job_that_is_slow_to_read_does_not_delay_the_list(
    three: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()

    def read(backend: Backend, now_ns: int) -> JobFacts:
        if backend.uri.endswith("bert"):
            held.wait()
        return read_job(backend, now_ns)

    monkeypatch.setattr(job_summary, "read_job", read)
    monkeypatch.setattr(catalog, "MAX_READ_SECONDS", 0.5)
    rows = {row["name"]: row for row in three.rows(three.find("", "", "name"))}
    held.set()

    assert {name: row["state"] for name, row in rows.items()} == {
        "resnet-a": "completed",
        "resnet-b": "completed",
        "bert": "broken",
    }
    assert "longer than 500 ms" in rows["bert"]["verdict"]


def test_thousands_of_summarized_jobs_are_sorted_without_reading_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_jobs(str(tmp_path), 300)
    reads: list[str] = []
    monkeypatch.setattr(job_summary, "read_job", _slow(FakeClock(), reads))
    names = Catalog(str(tmp_path), FakeClock()).find("", "", "-duration")
    assert len(names) == 300
    assert names[0] == "job-00298"  # 60 s, the last by name
    assert reads == []


def test_a_summary_is_outdated_by_a_check_or_another_attempt(tmp_path: Path) -> None:
    job = FakeJob(str(tmp_path / "job"))
    job.worker().step(0, {"forward": 1.0}).flush().beat(is_over=True)
    job.end()
    jobs = Catalog(str(tmp_path), job.clock)
    assert jobs.rows(["job"])[0]["findings"] == {}
    write_findings(job.backend, [Finding("Overfit", Severity.WARNING, "It learns by heart.")])
    job.clock.advance(20)
    assert jobs.rows(["job"])[0]["findings"] == {"warning": 1}
    FakeJob(str(tmp_path / "job"), node="node-b", clock=job.clock)
    job.clock.advance(20)
    assert jobs.rows(["job"])[0]["nodes"] == 2
