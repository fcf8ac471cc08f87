"""Probe: random requests to every route of the dashboard.

No request may end in an exception, a status 500, a body that does not match its type, or a path
of the server. Read requests must not change the store.
"""

import hashlib
import inspect
import json
import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

from starlette.testclient import TestClient

from sonde.store.layout import JOB
from sonde.web.answers import ENDPOINTS, Endpoint
from tests.fakes.clock import FakeClock
from tests.fakes.stores import Shape, hostile, write_job
from tests.torture.probe import Outcome
from tests.web.served import OURS, PORT, served

_NOW_NS = 1_790_000_100 * 1_000_000_000
_SLOW_SECONDS = 20.0
_PARAMETER = re.compile(r'\.(?:text|texts|integer|seconds|choice)\("(\w+)"')
_TEXTS = (
    *("", "0", "-1", "1", "2", "1e308", "-1e308", "nan", "inf", "-inf", "1" * 400, "0x10", "1_000"),
    *("1790000000", "1790000030.5", "4000000000", "4000000001", "true", "null", "[]", "{}", ","),
    *("a,b,,c", "," * 600, "../../etc/passwd", "%00", "\x00", "\r\nX: y", "<script>", "'\"", "*"),
    *("\U0001f600", "\ufeff", "\u202e", "x" * 20_000, "cpu.utilization_percent", "gradient/a"),
    *("node-a", "0,1", "loss", "forward", "training", "csv", "parquet", "all", "weights", "1200"),
)
_JOBS = ("one", "two", "missing", ".", "..", "a/b", "x" * 300, "\x00", "<b>", "%2e%2e", "-", " ")
_METHODS = ("GET", "GET", "GET", "GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH")
_BODIES = (
    *(b"", b"{}", b"[]", b"null", b"{", b"\xff\xfe", b"1" * 70_000, b"[" * 60_000),
    *(b'{"interval_seconds": -1}', b'{"interval_seconds": "x"}', b'{"kind": 7}', b'{"a":' * 900),
    *(b'{"interval_seconds": 1e999}', b'{"reason": "\\ud800"}', b'{"kind": "operators"}'),
)
_HEADERS: tuple[dict[str, str], ...] = (
    *({}, OURS, {"If-None-Match": "*"}, {"If-None-Match": '"' + "x" * 5000}, {"Range": "bytes=0-"}),
    *({"Accept-Encoding": "gzip"}, {"Accept-Encoding": "x" * 9000}, {"Host": "evil.example"}),
    *({"Origin": "null"}, {"Cookie": "a=b; =; ;" * 50}, {"Content-Type": "text/xml"}),
    *({"Authorization": "Bearer \x7f"}, {**OURS, "Origin": f"http://localhost:{PORT}"}),
)


class Routes:
    """Sends random requests to one store per run."""

    name = "routes"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per request, and one for the final content of the store."""
        folder = Path(tempfile.mkdtemp(prefix="sonde-torture-"))
        try:
            _fill(folder)
            client = served(str(folder), FakeClock(_NOW_NS))
            before = _state(folder)
            numbers = random.Random(seed)
            while monotonic() < deadline:
                yield _outcome(client, folder, numbers.randrange(1 << 32))
            after = _state(folder)
            changed = sorted(name for name in before if after.get(name) not in (before[name], None))
            yield Outcome(
                "files after all requests",
                seed,
                untrue_state=f"changed: {changed[:5]}" if changed else None,
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _fill(folder: Path) -> None:
    for name in ("one", "two"):
        write_job(str(folder), name, Shape(seconds=30))
    hostile(str(folder))


def _state(folder: Path) -> dict[str, str]:
    """Return hashes of files that no request may change; jobs may be removed."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and (path.suffix == ".parquet" or path.name == JOB)
    }


def _outcome(client: TestClient, folder: Path, seed: int) -> Outcome:
    numbers = random.Random(seed)
    method, path, body, headers = _request(numbers)
    case = f"{method} {path[:120]}"
    start = monotonic()
    try:
        answer = client.request(method, path, content=body, headers=headers)
    except Exception as error:  # noqa: BLE001 - whatever leaves the server is a crash
        is_sent = type(error).__name__ != "InvalidURL"  # the client refuses to send this request
        crash = f"{type(error).__name__}: {error}" if is_sent else None
        return Outcome(case, seed, crash=crash)
    if monotonic() - start > _SLOW_SECONDS:
        return Outcome(case, seed, crash=f"answered after {monotonic() - start:.0f} s")
    return Outcome(case, seed, crash=_problem(answer, folder))


def _problem(answer: Any, folder: Path) -> str | None:
    if answer.status_code >= 500 and answer.status_code != 503:
        return f"status {answer.status_code}: {answer.text[:200]}"
    if "content-security-policy" not in answer.headers:
        return "no security headers"
    if answer.headers.get("content-type") == "application/json" and answer.content:
        try:
            document = json.loads(answer.content)
        except ValueError:
            return f"no JSON: {answer.text[:200]}"
        if answer.status_code >= 400 and set(document) != {"error"}:
            return f"an error without a sentence: {answer.text[:200]}"
    if answer.status_code >= 400 and str(folder) in answer.text:
        return f"a path of the server: {answer.text[:200]}"
    return None


def _request(numbers: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    endpoint, names = numbers.choice(_routes())
    method = endpoint.method if numbers.random() < 0.7 else numbers.choice(_METHODS)
    path = re.sub(r"\{\w+\}", lambda _: quote(numbers.choice(_JOBS), safe=""), endpoint.path)
    if numbers.random() < 0.6:
        path = endpoint.path.replace("{job}", "two" if method == "DELETE" else "one")
    if numbers.random() < 0.05:
        path += quote(numbers.choice(_TEXTS))
    query = "&".join(
        f"{numbers.choice(names)}={quote(numbers.choice(_TEXTS))}"
        for _ in range(numbers.randrange(5))
    )
    headers = dict(numbers.choice(_HEADERS))
    return method, f"{path}?{query}" if query else path, numbers.choice(_BODIES), headers


@cache
def _routes() -> list[tuple[Endpoint, list[str]]]:
    """Return all routes with the parameters that their module reads."""
    routes: list[tuple[Endpoint, list[str]]] = []
    for name in ENDPOINTS.names():
        group = ENDPOINTS.load(name)
        source = inspect.getsource(inspect.getmodule(group) or group)
        names = sorted({*_PARAMETER.findall(source), "t0", "t1", "px", "node", "worker", "token"})
        routes.extend(
            (Endpoint(f"/api{endpoint.path}", endpoint.handler, endpoint.method), names)
            for endpoint in group().endpoints()
        )
    pages = [Endpoint(path, routes[0][0].handler) for path in ("/", "/assets/app.js", "/assets/x")]
    return [*routes, *((page, ["v", "token"]) for page in pages)]


PROBES = (Routes(),)
