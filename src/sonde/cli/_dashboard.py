"""What `ui` and `run --ui` share: a server over a store, and the address to open."""

import importlib
import secrets
import socket
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sonde.clock import SystemClock
from sonde.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from sonde.show.web.server import DashboardServer

DEFAULT_PORT = 8765
LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 24
_EVERYWHERE = ("0.0.0.0", "::", "")  # what a person may say


def listen(host: str, port: int) -> socket.socket:
    """A socket that is ours from now on; port 0 takes any that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except UnicodeError:  # two dots in a row, or more letters than a name may have
        raise UsageError(f"{host!r} is no address to listen on.") from None
    except OSError as error:
        # Python repeats the address in brackets
        reason = (error.strerror or str(error)).partition(" (")[0].lower()
        raise UsageError(
            f"Cannot listen on {host}:{port}: {reason}. Try another --port; 0 takes any free one."
        ) from None


def open_server(store: str, listening: socket.socket, host: str) -> "tuple[DashboardServer, str]":
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
    shown = importlib.import_module("sonde.client.shown_job").ShownJob
    is_local = security.is_loopback(host)
    token = None if is_local else secrets.token_urlsafe(_TOKEN_BYTES)
    clock = SystemClock()
    shelf = library.Library(store, clock, lambda backend: shown(backend, clock), _rule_page)
    opened: DashboardServer = server.DashboardServer(shelf, listening, token)
    return opened, _address(host, opened.port, token)


@lru_cache(maxsize=512)  # to look for one that nobody knows takes a quarter of a second
def _rule_page(name: str) -> Mapping[str, Any] | None:
    """What a rule of ours says of itself; of one that came with a job nothing is known here."""
    rules = importlib.import_module("sonde.rules")
    pages = importlib.import_module("sonde.cli.rules")
    try:
        page: Mapping[str, Any] = pages.rule_document(rules.load_rule(name))
    except UsageError:
        return None
    return page


def _address(host: str, port: int, token: str | None) -> str:
    if host in _EVERYWHERE:
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{f'?token={token}' if token else ''}"
