"""Jobs in the Python API: opened by name, path or URI, and refreshed."""

from argparse import Namespace
from pathlib import Path

import pytest

import sonde
from sonde.cli import COMMANDS
from sonde.errors import JobNotFoundError
from sonde.records.job import JobState
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob


@pytest.fixture
def store(tmp_path: Path) -> str:
    late = FakeClock()
    late.advance(100)
    FakeJob(str(tmp_path / "a-late"), clock=late).end()
    FakeJob(str(tmp_path / "b-early")).record({"cpu": [1, 2]}).end(JobState.FAILED)
    return str(tmp_path)


def test_a_job_opens_by_name_path_and_uri(store: str) -> None:
    for job in (
        sonde.open_job("b-early", store),
        sonde.open_job(f"{store}/b-early"),
        sonde.open_job(Path(store) / "b-early"),
        sonde.open_job("b-early", Path(store)),
        sonde.open_job(f"file://{store}/b-early"),
    ):
        assert job.name == "b-early"
        assert job.state is JobState.FAILED
        assert job.system("cpu").to_arrow()["cpu"].to_pylist() == [1, 2]


def test_jobs_are_read_from_the_default_store(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONDE_STORE", store)

    assert sonde.open_job("a-late").name == "a-late"
    assert len(sonde.list_jobs()) == 2


def test_opening_an_unknown_job_lists_the_available_jobs(store: str) -> None:
    with pytest.raises(JobNotFoundError, match=r"No job 'c' in .*\. Available: a-late, b-early"):
        sonde.open_job("c", store)


def test_jobs_are_listed_in_order_of_their_start(store: str) -> None:
    assert [job.name for job in sonde.list_jobs(store)] == ["b-early", "a-late"]


def test_a_missing_store_has_no_jobs(tmp_path: Path) -> None:
    assert sonde.list_jobs(str(tmp_path / "nowhere")) == []


def test_a_refresh_shows_new_data_and_the_final_state() -> None:
    fake = FakeJob().record({"cpu": [1]})
    job = fake.job()
    assert job.system().to_arrow().num_rows == 1
    fake.record({"cpu": [2]}).end()

    assert job.refresh() is job

    assert job.state is JobState.COMPLETED
    assert job.system().to_arrow().num_rows == 2


def test_a_job_prints_as_one_line() -> None:
    fake = FakeJob()
    fake.clock.advance(12.5)

    assert repr(fake.end().job()) == "<Job job: completed, 12.5 s, nodes: node-a>"


def test_the_summary_is_the_status_document() -> None:
    assert FakeJob().end().job().summary["state"] == "completed"


def test_a_job_of_a_newer_format_does_not_hide_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeJob(str(tmp_path / "old")).end()
    with monkeypatch.context() as future:
        future.setattr("sonde.store.facts.FORMAT_VERSION", 99)
        FakeJob(str(tmp_path / "new")).end()
    assert [job.name for job in sonde.list_jobs(str(tmp_path))] == ["old"]
    assert "pip install -U sonde" in caplog.text
    assert COMMANDS.load("jobs")().execute(Namespace(store=str(tmp_path), query="", json=True)) == 0
