"""The dashboard with silent clients and on a Unix socket."""

import resource
import signal
import socket
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

import httpx

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import Sonde
from tests.journeys.test_dashboard import address_in, client_of

DESCRIPTORS = 256
SILENT_CLIENTS = 400


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def test_more_silent_connections_than_descriptors_neither_stop_the_server_nor_fill_its_log(
    sonde: Sonde,
) -> None:
    errors = sonde.folder / "errors"
    with errors.open("wb") as stderr, ExitStack() as stack:
        server = sonde.start(
            *("ui", "--port", "0"), stdout=PIPE, stderr=stderr, preexec_fn=few_descriptors
        )
        address = address_in(server.stdout)
        host = httpx.URL(address)
        for count in range(SILENT_CLIENTS):
            client = stack.enter_context(socket.create_connection((host.host, host.port or 80), 60))
            client.sendall(b"GET / HTTP/1.1\r\nX-Slow: " if count % 2 else b"")
        with client_of(address) as honest:
            for _ in range(20):
                assert honest.get("/api/jobs").status_code == 200
                honest.get("/", headers={"Connection": "close"})
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    text = errors.read_text()
    assert "too many connections" in text
    assert "Traceback" not in text
    assert len(text.splitlines()) <= 3


def test_a_unix_socket_needs_no_token_and_is_removed_at_the_end(sonde: Sonde) -> None:
    path = Path(sonde.folder, "ui.sock")
    server = sonde.start("ui", "--socket", path.name, stdout=PIPE)
    assert eventually(path.exists)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), timeout=60) as client:
        assert client.get("http://localhost/api/jobs").status_code == 200
        assert client.get("http://evil.example/api/jobs").status_code == 421
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0
    assert not path.exists()
