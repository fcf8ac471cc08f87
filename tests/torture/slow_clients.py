"""Probe: clients that are slow, silent, broken or too numerous, on real sockets.

A normal client must get replies during and after this, and the log must stay short.
"""

import logging
import random
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep

from sonde.clock import SystemClock
from sonde.web.connections import Limits
from sonde.web.library import Library
from sonde.web.server import DashboardServer
from tests.fakes.job import FakeJob
from tests.torture.probe import Outcome

_LIMITS = Limits(connections=32, backlog=16, request_seconds=0.5, stalled_seconds=0.5)
_NORMAL_SECONDS = 20.0
_MAX_LOG_LINES = 20  # in a minute: each kind is logged once
_REQUEST = b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

Client = Callable[[socket.socket, random.Random], None]


def _silent(_client: socket.socket, _numbers: random.Random) -> None:
    """Connect and send nothing."""


def _half_a_request(client: socket.socket, numbers: random.Random) -> None:
    client.sendall(_REQUEST[: numbers.randrange(1, len(_REQUEST) - 1)])


def _slow_headers(client: socket.socket, numbers: random.Random) -> None:
    for byte in _REQUEST[: numbers.randrange(1, 12)]:
        client.sendall(bytes([byte]))
        sleep(0.02)


def _half_a_body(client: socket.socket, _numbers: random.Random) -> None:
    head = b"POST /api/jobs/job/stop HTTP/1.1\r\nHost: localhost\r\nX-Sonde: 1\r\n"
    client.sendall(head + b"Content-Length: 1000\r\n\r\n{")


def _garbage(client: socket.socket, numbers: random.Random) -> None:
    client.sendall(numbers.randbytes(numbers.randrange(1, 5000)))


def _endless_header(client: socket.socket, _numbers: random.Random) -> None:
    client.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000)


def _reset(client: socket.socket, _numbers: random.Random) -> None:
    client.sendall(_REQUEST)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def _does_not_read(client: socket.socket, _numbers: random.Random) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.sendall(b"GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)


def _pipeline(client: socket.socket, _numbers: random.Random) -> None:
    client.sendall(b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)


def _listener(client: socket.socket, _numbers: random.Random) -> None:
    client.sendall(b"GET /api/jobs/job/events HTTP/1.1\r\nHost: localhost\r\n\r\n")


_CLIENTS: tuple[Client, ...] = (
    *(_silent, _half_a_request, _slow_headers, _half_a_body, _garbage),
    *(_endless_header, _reset, _does_not_read, _pipeline, _listener),
)


class SlowClients:
    """Groups of misbehaving clients, together with a normal client."""

    name = "slow-clients"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per group of clients, and one for the log."""
        folder = Path(tempfile.mkdtemp(prefix="sonde-torture-"))
        lines, start = _LogLines(), monotonic()
        logging.getLogger("sonde").addHandler(lines)
        logging.getLogger("asyncio").addHandler(lines)
        try:
            FakeJob(str(folder / "job")).end()
            clock = SystemClock()
            library = Library(str(folder), clock)
            listening = socket.create_server(("127.0.0.1", 0))
            numbers = random.Random(seed)
            with DashboardServer(library, listening, limits=_LIMITS) as server:
                while monotonic() < deadline:
                    yield _query_with_clients(server.port, numbers.randrange(1 << 32))
            text = f"{len(lines.texts)} lines, first {lines.texts[:1]}"
            minutes = 1 + (monotonic() - start) // 60
            is_long = len(lines.texts) > _MAX_LOG_LINES * minutes
            yield Outcome("the log of all crowds", seed, crash=text if is_long else None)
        finally:
            logging.getLogger("sonde").removeHandler(lines)
            logging.getLogger("asyncio").removeHandler(lines)
            shutil.rmtree(folder, ignore_errors=True)


class _LogLines(logging.Handler):
    """Collects log lines."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store a record with its traceback."""
        self.texts += self.format(record).splitlines()


def _query_with_clients(port: int, seed: int) -> Outcome:
    numbers = random.Random(seed)
    kinds = numbers.sample(_CLIENTS, k=numbers.randrange(1, 4))
    size = numbers.randrange(1, 2 * _LIMITS.connections)
    names = "+".join(kind.__name__.strip("_") for kind in kinds)
    with ExitStack() as stack:
        for _ in range(size):
            with suppress(OSError):  # the server may have closed it
                client = socket.create_connection(("127.0.0.1", port), _NORMAL_SECONDS)
                stack.enter_context(client)
                numbers.choice(kinds)(client, numbers)
        problem = _query_normally(port, is_listening=_listener in kinds)
    return Outcome(f"{size} clients: {names}", seed, crash=problem)


def _query_normally(port: int, *, is_listening: bool) -> str | None:
    """Return the problem of a normal client, or None."""
    deadline = monotonic() + _NORMAL_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), _NORMAL_SECONDS) as client:
                client.sendall(_REQUEST)
                status = client.recv(65536).partition(b"\r\n")[0]
        except OSError as error:
            status = str(error).encode()
        # a 503 is expected if listeners use all connections
        is_refused = is_listening and b" 503 " in status
        if b" 200 " in status or is_refused:
            return None
        if monotonic() > deadline:
            return f"the normal client got {status!r}"
        sleep(0.1)


PROBES = (SlowClients(),)
