"""What `ui` and `run --ui` share: a server over a store, and the address to open."""

import importlib
import secrets
from typing import TYPE_CHECKING

from sonde.clock import SystemClock
from sonde.errors import MissingExtraError

if TYPE_CHECKING:
    from sonde.show.web.server import DashboardServer

DEFAULT_PORT = 8765
LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 24


def open_server(store: str, host: str, port: int) -> "tuple[DashboardServer, str]":
    """A server that listens, and its address; what it needs is loaded only now."""
    try:
        server = importlib.import_module("sonde.show.web.server")
        security = importlib.import_module("sonde.show.web.security")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("sonde"):
            raise
        raise MissingExtraError(
            f"The dashboard needs {error.name}, which is not installed: pip install sonde"
        ) from error
    library = importlib.import_module("sonde.show.web.library")
    job = importlib.import_module("sonde.client.job")
    is_local = security.is_loopback(host)
    token = None if is_local else secrets.token_urlsafe(_TOKEN_BYTES)
    clock = SystemClock()
    shelf = library.Library(store, clock, lambda backend: job.Job(backend, clock))
    opened: DashboardServer = server.DashboardServer(shelf, server.listen(host, port), token)
    return opened, _address(host, opened.port, token)


def _address(host: str, port: int, token: str | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{f'?token={token}' if token else ''}"
