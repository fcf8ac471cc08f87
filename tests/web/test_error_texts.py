"""Error messages of the server do not reveal its paths."""

from pathlib import Path

import pytest

from sonde.web.error_texts import without_paths
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.web.served import OURS, served


@pytest.mark.parametrize(
    "path",
    [
        "/api/jobs/missing",
        "/api/jobs/missing/events",
        "/api/jobs/damaged",
        "/api/jobs/damaged/steps",
        "/api/jobs/damaged/findings",
        "/api/jobs/damaged/report",
        "/api/jobs/one/requests/none",
        "/api/jobs/one/nothing",
        "/api/nothing",
        "/assets/nothing.js",
    ],
)
def test_errors_contain_no_server_paths(tmp_path: Path, path: str) -> None:
    FakeJob(str(tmp_path / "one")).end()
    FakeJob(str(tmp_path / "damaged")).end()
    (tmp_path / "damaged" / "job.json").write_bytes(b"{")
    client = served(str(tmp_path), FakeClock())
    answer = client.get(path)
    assert answer.status_code != 500
    if answer.status_code != 200:
        assert str(tmp_path) not in answer.text
        assert str(tmp_path.parent) not in answer.text


def test_a_refused_request_contains_no_server_path(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "one")).end()
    answer = served(str(tmp_path), FakeClock()).post("/api/jobs/one/stop", json={}, headers=OURS)
    assert answer.status_code == 409
    assert str(tmp_path) not in answer.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There is no job 'x' in /home/me/jobs.", "There is no job 'x' in the store."),
        ("Cannot read /home/me/jobs/x/job.json: too large", "Cannot read x/job.json: too large"),
        ("Cannot read file:///home/me/jobs/x/a b.json", "Cannot read x/a b.json"),
        ("[Errno 13] '/var/lib/other/file'", "[Errno 13] '…/file'"),
        ("1/2 of a/b and https://host/path", "1/2 of a/b and https://host/path"),
        ("/home/me/jobs2/x is no store", "…/x is no store"),
        ("t1 comes after t0: from 1 to 2 ns", "t1 comes after t0: from 1 to 2 ns"),
    ],
)
def test_paths_become_names_relative_to_the_store(text: str, expected: str) -> None:
    assert without_paths(text, "/home/me/jobs") == expected
