"""Access control: local dashboard pages or requests with the token."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sonde.web.hosts import is_loopback
from sonde.web.security import AccessPolicy
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.web.served import OURS, PORT, served

TOKEN = "right-token"
COOKIE = f"sonde-token-{PORT}"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def store(tmp_path: Path) -> str:
    FakeJob(str(tmp_path / "one")).end()
    return str(tmp_path)


@pytest.fixture
def local(store: str) -> TestClient:
    return served(store, FakeClock())


@pytest.fixture
def remote(store: str) -> TestClient:
    return served(store, FakeClock(), TOKEN, host="gpu-box")


@pytest.fixture
def shared(store: str) -> TestClient:
    """A server on a shared machine: on loopback, with a token."""
    return served(store, FakeClock(), TOKEN)


@pytest.mark.parametrize("path", ["/", "/api/jobs", "/api/nothing", "/assets/nothing.js"])
def test_every_reply_has_security_headers(local: TestClient, path: str) -> None:
    headers = local.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "cache-control" in headers


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9000", "[::1]:8765", "x.localhost"])
def test_all_loopback_host_names_are_accepted(local: TestClient, host: str) -> None:
    assert local.get("/api/jobs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8765", "", "[::1"]
)
def test_foreign_host_names_are_refused(local: TestClient, host: str) -> None:
    answer = local.get("/api/jobs", headers={"Host": host})
    assert answer.status_code in (400, 421)
    assert "one" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Sonde": "0"},
        {**OURS, "Origin": "http://evil.example"},
        {**OURS, "Origin": "null"},
        {**OURS, "Origin": f"http://localhost.evil.example:{PORT}"},
        {**OURS, "Origin": "http://localhost:1"},
        {**OURS, "Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "one/stop"), ("DELETE", "one")])
def test_cross_site_requests_are_refused(
    local: TestClient, store: str, headers: dict[str, str], method: str, path: str
) -> None:
    answer = local.request(method, f"/api/jobs/{path}", headers=headers)
    assert answer.status_code == 403
    assert Path(store, "one", "job.json").exists()


def test_the_dashboard_itself_can_remove_a_job(local: TestClient, store: str) -> None:
    headers = {**OURS, "Origin": f"http://localhost:{PORT}", "Sec-Fetch-Site": "same-origin"}
    assert local.delete("/api/jobs/one", headers=headers).status_code == 200
    assert not Path(store, "one").exists()


@pytest.mark.parametrize("path", ["/", "/api/jobs", "/api/jobs/one/events", "/assets/app.js"])
def test_remote_clients_need_the_token(remote: TestClient, path: str) -> None:
    answer = remote.get(path)
    assert answer.status_code == 401
    assert "token" in answer.json()["error"]


@pytest.mark.parametrize("wrong", ["", "wrong", TOKEN[:-1], f"{TOKEN}x", "ключ"])
def test_a_wrong_token_is_refused(remote: TestClient, wrong: str) -> None:
    assert remote.get("/", params={"token": wrong}).status_code == 401
    remote.cookies.set(COOKIE, wrong.encode("ascii", "ignore").decode() or "-")
    assert remote.get("/api/jobs").status_code == 401


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(
    remote: TestClient,
) -> None:
    answer = remote.get("/", params={"token": TOKEN, "more": "x"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?more=x"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Max-Age=" in cookie
    assert remote.get("/api/jobs").status_code == 200


@pytest.mark.parametrize(
    "other",
    [
        'settings={"a": 1}',
        "flag",
        "=",
        "a=b c",
        "list[1]=2",
        'open="',
        "Path=/",
        f"{COOKIE}=planted",
    ],
)
def test_cookies_of_other_servers_on_the_host_do_not_hide_ours(
    shared: TestClient, other: str
) -> None:
    value = AccessPolicy(PORT, TOKEN).cookie_value
    for header in (f"{other}; {COOKIE}={value}", f"{COOKIE}={value}; {other}"):
        assert shared.get("/api/jobs", headers={"Cookie": header}).status_code == 200
    assert shared.get("/api/jobs", headers={"Cookie": f"{other}; x{COOKIE}={value}"}).is_error


def test_on_a_shared_machine_a_neighbor_cannot_read_or_delete_jobs(
    shared: TestClient, store: str
) -> None:
    for path in ("/", "/api/jobs", "/api/jobs/one", "/api/jobs/one/events", "/assets/app.js"):
        assert shared.get(path).status_code == 401
    answer = shared.delete("/api/jobs/one", headers=OURS)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "token" in answer.json()["error"]
    assert Path(store, "one", "job.json").exists()


def test_on_a_shared_machine_the_owner_opens_the_link_once(shared: TestClient) -> None:
    assert shared.get("/", params={"token": TOKEN}).headers["location"] == "/"
    assert shared.get("/").status_code == 200
    assert shared.get("/api/jobs").status_code == 200
    # opening the link with the cookie set also removes the token from the address
    assert shared.get("/", params={"token": TOKEN}).status_code == 303


def test_names_and_origins_are_checked_with_a_token_too(shared: TestClient, store: str) -> None:
    expected = {"Authorization": f"Bearer {TOKEN}"}
    rebound = shared.get("/api/jobs", headers={**expected, "Host": "evil.example"})
    assert rebound.status_code == 421
    forged = {**expected, **OURS, "Origin": "http://evil.example"}
    assert shared.delete("/api/jobs/one", headers=forged).status_code == 403
    assert shared.delete("/api/jobs/one", headers=expected).status_code == 403
    assert Path(store, "one", "job.json").exists()


def test_a_browser_without_a_token_gets_instructions(shared: TestClient) -> None:
    answer = shared.get("/", headers=BROWSER)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "sonde ui" in answer.text
    assert '<a href="/">' in answer.text  # a same-site link sends the strict cookie
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert shared.get("/api/jobs", headers=BROWSER).headers["content-type"] == "application/json"


def test_a_cross_site_link_with_the_token_works_despite_the_strict_cookie(
    shared: TestClient,
) -> None:
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    answer = shared.get("/", params={"token": TOKEN, "a": '"><b>'}, headers=headers)
    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text
    assert "url=/?a=%22%3E%3Cb%3E" in answer.text
    assert TOKEN not in answer.text
    assert shared.get("/api/jobs").status_code == 200


def test_a_stolen_cookie_reveals_neither_the_token_nor_other_ports() -> None:
    access, second = AccessPolicy(PORT, TOKEN), AccessPolicy(PORT + 1, TOKEN)
    assert TOKEN not in access.cookie_value
    assert not access.admits(access.cookie_value)
    assert not second.admits_cookie(access.cookie_value)
    assert access.admits_cookie(access.cookie_value)


def test_a_script_can_send_the_token_in_a_header(remote: TestClient) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert remote.get("/api/jobs", headers=headers).status_code == 200


def test_a_token_in_the_address_changes_nothing_by_itself(remote: TestClient) -> None:
    answer = remote.delete("/api/jobs/one", params={"token": TOKEN}, headers=OURS)
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("//evil.example/", "/evil.example/"),
        ("/%5Cevil.example/", "/%5Cevil.example/"),
        ("/x%0d%0aSet-Cookie:%20a=b", "/x%0D%0ASet-Cookie%3A%20a%3Db"),
    ],
)
def test_the_redirect_after_login_stays_on_this_server(
    remote: TestClient, path: str, expected: str
) -> None:
    answer = remote.get(f"http://gpu-box{path}", params={"token": TOKEN})
    assert answer.headers["location"] == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("box", False)],
)
def test_loopback_addresses_are_recognized(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
