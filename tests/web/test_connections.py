"""Slow, silent or too many clients are limited, and others are served."""

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sonde.clock import SystemClock
from sonde.web.connections import BoundedServer, ClientLog, Limits, limits_for
from sonde.web.library import Library
from sonde.web.server import DashboardServer

SHORT = Limits(connections=4, request_seconds=0.2, stalled_seconds=0.2)
ROOMY = Limits(connections=4, request_seconds=60, stalled_seconds=60)
REQUEST = b"GET /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE_SECONDS = 20.0


@contextmanager
def serving(folder: Path, limits: Limits) -> Iterator[DashboardServer]:
    clock = SystemClock()
    library = Library(str(folder), clock)
    listening = socket.create_server(("127.0.0.1", 0))
    with DashboardServer(library, listening, limits=limits) as server:
        yield server


@contextmanager
def connected(server: DashboardServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS) as client:
        yield client


def is_closed_by_server(client: socket.socket) -> bool:
    """Return whether the server closes the connection within the time limit."""
    client.settimeout(PATIENCE_SECONDS)
    try:
        while client.recv(65536):
            continue
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def is_disconnected_while_sending(client: socket.socket, data: bytes) -> bool:
    """Return whether the server closes the connection while the client keeps sending."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while time.monotonic() < deadline:
            client.sendall(data)
            time.sleep(0.02)
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


def status_line(client: socket.socket) -> bytes:
    client.sendall(REQUEST)
    return client.recv(65536).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /api/jobs/one/stop HTTP/1.1\r\nHost: localhost\r\nX-Sonde: 1\r\n"
        b"Content-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half the headers", "half the body"],
)
def test_a_client_that_does_not_finish_its_request_is_disconnected(
    tmp_path: Path, sent: bytes
) -> None:
    with serving(tmp_path, SHORT) as server, connected(server) as client:
        client.sendall(sent)
        assert is_closed_by_server(client)


def test_a_client_that_trickles_bytes_is_disconnected(tmp_path: Path) -> None:
    with serving(tmp_path, SHORT) as server, connected(server) as client:
        assert is_disconnected_while_sending(client, b"X")


def test_the_next_request_on_a_connection_has_its_own_time_limit(tmp_path: Path) -> None:
    with serving(tmp_path, SHORT) as server, connected(server) as client:
        assert status_line(client) == b"HTTP/1.1 200 OK"
        client.sendall(b"GET /api/jobs HTTP/1.1\r\n")
        assert is_closed_by_server(client)


def test_the_longest_idle_connection_is_closed_when_there_are_too_many(tmp_path: Path) -> None:
    with serving(tmp_path, ROOMY) as server:
        silent = [
            socket.create_connection(("127.0.0.1", server.port)) for _ in range(ROOMY.connections)
        ]
        with connected(server) as client:
            assert status_line(client) == b"HTTP/1.1 200 OK"
        assert is_closed_by_server(silent[0])
        for connection in silent:
            connection.close()


def test_a_client_that_does_not_read_its_reply_is_disconnected(tmp_path: Path) -> None:
    with serving(tmp_path, SHORT) as server, connected(server) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        asset = b"GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert is_disconnected_while_sending(client, asset)


@pytest.mark.parametrize(
    ("descriptors", "connections"), [(1024, 640), (256, 160), (64, 40), (1 << 30, 1024)]
)
def test_connections_leave_descriptors_for_the_files_of_the_store(
    descriptors: int, connections: int
) -> None:
    assert limits_for(descriptors).connections == connections
    assert limits_for(descriptors).backlog <= max(8, descriptors // 8)


def test_a_repeated_client_error_is_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    client_log = ClientLog(lambda: now[0])
    with caplog.at_level(logging.WARNING, "sonde"):
        for _ in range(1000):
            client_log.note("no more file descriptors")
        assert [record.message for record in caplog.records] == ["no more file descriptors"]
        now[0] = 61.0
        client_log.note("no more file descriptors")
    assert caplog.records[-1].message == "no more file descriptors (1,000 times in a minute)"


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), ValueError("x")])
def test_an_error_of_the_event_loop_is_one_line_without_a_traceback(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    loop = asyncio.new_event_loop()
    try:
        loop.set_exception_handler(BoundedServer.exception_handler(ClientLog(lambda: 0.0)))
        with caplog.at_level(logging.DEBUG):
            for _ in range(100):
                loop.call_exception_handler({"message": "accept failed", "exception": error})
    finally:
        loop.close()
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is None
    assert str(error) in caplog.records[0].getMessage()
