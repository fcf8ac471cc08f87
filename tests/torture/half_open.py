"""Probe: more half-open connections than file descriptors, at a dashboard in its own process.

1,100 clients connect to a `sonde ui` with 1,024 descriptors and send half a request or nothing.
A normal client must still get replies, and the log must stay short.
"""

import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import httpx

from tests.journeys.sonde_cli import plain_environment
from tests.journeys.test_dashboard import address_in, client_of
from tests.torture.probe import Outcome

_DESCRIPTORS = 1_024
_CLIENTS = 1_100
_SHORT_RUN_DIVISOR = 4  # with little time, clients and descriptors are divided by this
_REQUESTS = 10
_MAX_LINES = 10
_SECONDS = 60.0


class HalfOpen:
    """Starts one server with many half-open clients at a time."""

    name = "half-open"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per server."""
        numbers = random.Random(seed)
        share = 1 if deadline - monotonic() > _SECONDS else _SHORT_RUN_DIVISOR
        while True:
            with _more_descriptors(_CLIENTS + _DESCRIPTORS):
                yield _run(_CLIENTS // share, _DESCRIPTORS // share, numbers.randrange(1 << 32))
            if monotonic() > deadline:
                return


@contextmanager
def _more_descriptors(number: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = before[1] if before[1] != resource.RLIM_INFINITY else number
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], min(number, limit)), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _run(clients: int, descriptors: int, seed: int) -> Outcome:
    case, numbers = f"{clients} half-open at {descriptors} descriptors", random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sonde-torture-") as folder, ExitStack() as stack:
        errors = Path(folder, "errors")
        server = stack.enter_context(_server(Path(folder), errors, descriptors))
        try:
            address = httpx.URL(address_in(server.stdout))
            for _ in range(clients):
                peer = socket.create_connection((address.host, address.port or 80), _SECONDS)
                stack.enter_context(peer).sendall(_half_a_request(numbers))
            problem = _query(address)
        except (OSError, httpx.HTTPError, AssertionError) as error:
            problem = f"{type(error).__name__}: {error}"
        server.send_signal(signal.SIGINT)
        code = server.wait(_SECONDS)
        return Outcome(case, seed, crash=problem or _wrong_end(code, errors))


def _half_a_request(numbers: random.Random) -> bytes:
    text = b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
    return text[: numbers.randrange(len(text) + 1)]


@contextmanager
def _server(folder: Path, errors: Path, descriptors: int) -> "Iterator[subprocess.Popen[bytes]]":
    with errors.open("wb") as stderr:
        server = subprocess.Popen(
            [
                *("prlimit", f"--nofile={descriptors}", sys.executable, "-m", "sonde", "ui"),
                *("--port", "0", "--store", str(folder)),
            ],
            cwd=folder,
            env={**plain_environment(), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        try:
            yield server
        finally:
            server.kill()
            server.communicate()


def _query(address: httpx.URL) -> str | None:
    """Return the problem of a normal client meanwhile, or None."""
    start = monotonic()
    with client_of(str(address)) as client:
        for _ in range(_REQUESTS):
            status = client.get("/api/jobs").status_code
            if status != 200:
                return f"the normal client got {status}"
    seconds = monotonic() - start
    return f"the honest client waited {seconds:.0f} s" if seconds > _SECONDS else None


def _wrong_end(code: int, errors: Path) -> str | None:
    text = errors.read_text(errors="replace")
    if code != 0:
        return f"exit code {code}: {text[-300:]}"
    if "Traceback" in text or len(text.splitlines()) > _MAX_LINES:
        return f"{errors.stat().st_size} bytes of log: {text[:300]}"
    return None


PROBES = (HalfOpen(),)
