"""The socket of the web server."""

import socket
from pathlib import Path

from sonde.web.library import Library
from sonde.web.server import DashboardServer
from tests.fakes.clock import FakeClock


def test_replies_are_sent_without_delay(tmp_path: Path) -> None:
    clock = FakeClock()
    library = Library(str(tmp_path), clock)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        DashboardServer(library, listening, None)
        assert listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
