"""The web application: errors, caching, compression and isolation of the store."""

import gzip
import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sonde.web.answers import ENDPOINTS
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.stores import ATTACKS, Shape, hostile, write_job
from tests.web.served import OURS, served, served_job


@pytest.fixture
def web_client() -> TestClient:
    job = FakeJob().record({"cpu.utilization_percent": [1.0, 2.0, 3.0, 4.0] * 300})
    return served_job(job.end())


def test_the_root_path_serves_the_page(tmp_path: Path) -> None:
    answer = served(str(tmp_path), FakeClock()).get("/")
    assert answer.status_code == 200
    assert "<title>Sonde</title>" in answer.text
    assert "onerror" not in answer.text


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/jobs/nobody", 404, "No job 'nobody'"),
        ("/api/jobs/.hidden", 400, "Invalid job name"),
        ("/api/jobs/a%00b", 400, "Invalid job name"),
        ("/api/nothing", 404, "No endpoint for"),
        ("/api/jobs?limit=1000000", 400, "between 1 and 500"),
        ("/api/jobs?state=%3Cscript%3E", 400, "Choose one of:"),
    ],
)
def test_errors_are_json_with_a_message(
    tmp_path: Path, path: str, status: int, message: str
) -> None:
    answer = served(str(tmp_path), FakeClock()).get(path)
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "query",
    [
        "series",
        "series?keys=cpu.utilization_percent&px=4097",
        "series?keys=cpu.utilization_percent&px=1",
        "series?keys=cpu.utilization_percent&px=many",
        "series?keys=cpu.utilization_percent&t0=nan",
        "series?keys=cpu.utilization_percent&t0=inf",
        "series?keys=cpu.utilization_percent&t0=20&t1=10",
        "series?keys=cpu.utilization_percent&node=../../etc",
        f"series?keys={','.join(map(str, range(513)))}",
        f"series?keys={'x' * 20_000}",
        "heat?by=median",
        "steps?last=0",
        "steps?mode=dance",
        "spans?worker=7",
        "breakdown?t1=-1",
        "charts/nothing",
        "requests/..%5C..",
    ],
)
def test_invalid_parameters_are_refused(web_client: TestClient, query: str) -> None:
    answer = web_client.get(query)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/jobs/..%2F..%2Fetc%2Fpasswd",
        "/api/jobs/%2e%2e/",
        "/assets/..%2Fweb%2Fapp.py",
        "/assets/%2e%2e%2f__init__.py",
        "/assets//etc/passwd",
    ],
)
def test_files_outside_the_store_cannot_be_read(tmp_path: Path, path: str) -> None:
    store = tmp_path / "store"
    FakeJob(str(store / "one")).end()
    FakeJob(str(tmp_path / "secret")).end()
    client = served(str(store), FakeClock())
    assert client.get(path).status_code in (400, 404)
    assert client.get("/api/jobs/..%2Fsecret").status_code in (400, 404)


def test_a_missing_store_is_an_empty_list(tmp_path: Path) -> None:
    answer = served(str(tmp_path / "none"), FakeClock()).get("/api/jobs").json()
    assert (answer["jobs"], answer["total"]) == ([], 0)


def test_an_unchanged_reply_is_not_sent_again(web_client: TestClient) -> None:
    first = web_client.get("series?keys=cpu.utilization_percent")
    repeated = web_client.get(
        "series?keys=cpu.utilization_percent", headers={"If-None-Match": first.headers["etag"]}
    )
    assert (repeated.status_code, repeated.content) == (304, b"")
    assert repeated.headers["etag"] == first.headers["etag"]


def test_replies_are_compressed_if_the_client_accepts_gzip(web_client: TestClient) -> None:
    path = "series?keys=cpu.utilization_percent"
    plain = web_client.get(path, headers={"Accept-Encoding": "identity"})
    packed = web_client.get(path, headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(gzip.compress(plain.content)) * 1.5


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((b"{", 400), (b"[]", 400), (b"x" * 70_000, 413), (b'{"monitoring": 1}', 400)),
        *((b"{}", 400), (b"[" * 60_000, 400)),
    ],
)
def test_invalid_request_bodies_are_refused(
    web_client: TestClient, body: bytes, status: int
) -> None:
    answer = web_client.post("set", content=body, headers=OURS)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_an_internal_error_is_returned_without_its_details(
    web_client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of the machine")

    monkeypatch.setattr("sonde.web.answers.heat.columns_of", broken)
    answer = web_client.get("heat")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "ZeroDivisionError" in caplog.text  # the server logs it


def test_hostile_names_are_returned_as_data_and_never_as_html(tmp_path: Path) -> None:
    hostile(str(tmp_path))
    client = served(str(tmp_path), FakeClock(2_000_000_000 * 1_000_000_000))
    document = client.get("/api/jobs/hostile").json()
    assert [entry["name"] for entry in document["nodes"]]
    messages = {entry["message"] for entry in document["findings"]["findings"]}
    assert messages == set(ATTACKS)
    for path in ("metrics", "rules", "charts/rules", "fleet", "scalars", "series?keys=x"):
        answer = client.get(f"/api/jobs/hostile/{path}")
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] in ("application/json", "application/octet-stream")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_no_endpoint_fails_for_an_empty_job() -> None:
    client = served_job(FakeJob().end())
    paths = [
        endpoint.path.removeprefix("/jobs/{job}/")
        for name in ENDPOINTS.names()
        for endpoint in ENDPOINTS.load(name)().endpoints()
        if endpoint.method == "GET"
        and endpoint.path.startswith("/jobs/{job}/")
        and endpoint.path.count("{") == 1
    ]
    assert len(paths) >= 15
    for path in paths:
        answer = client.get(path)
        assert answer.status_code < 500, (path, answer.text)
        if answer.status_code != 200:
            assert answer.json()["error"], path


def test_replies_about_a_finished_job_are_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_job(str(tmp_path), "one", Shape(seconds=30))
    client = served(str(tmp_path), FakeClock())
    first = client.get("/api/jobs/one/heat")
    monkeypatch.setattr("sonde.web.answers.heat.columns_of", None)
    assert client.get("/api/jobs/one/heat").content == first.content


def test_a_search_with_invalid_utf8_finds_nothing(tmp_path: Path) -> None:
    client = served(str(tmp_path), FakeClock())
    answer = client.get("/api/jobs?search=%ff%fe%00%F0%9F%92%A9")
    assert answer.status_code == 200
    assert json.loads(answer.text)["total"] == 0


def test_built_assets_are_cached_until_they_change(tmp_path: Path) -> None:
    client = served(str(tmp_path), FakeClock())
    page = client.get("/").text
    for path in re.findall(r'(?:href|src)="(/assets/[^"]+)"', page):
        answer = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip"
        assert "immutable" in answer.headers["cache-control"]
        plain = client.get(path.partition("?")[0], headers={"Accept-Encoding": "identity"})
        assert plain.content == answer.content
        assert plain.headers["cache-control"] == "no-cache"
