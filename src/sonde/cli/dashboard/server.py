"""Create the dashboard server of `sonde ui` and `sonde run --ui`, and its address."""

import contextlib
import importlib
import os
import socket
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonde.clock import SystemClock
from sonde.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from sonde.web.server import DashboardServer

DEFAULT_PORT = 8765
LOOPBACK = "127.0.0.1"
_ALL_INTERFACES = ("0.0.0.0", "::", "")


def listen(host: str, port: int) -> socket.socket:
    """Listen on a port; 0 selects a free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except UnicodeError:  # two dots in a row, or a label that is too long
        raise UsageError(f"{host!r} is not a valid address to listen on.") from None
    except OSError as error:
        # Python repeats the address in brackets
        reason = (error.strerror or str(error)).partition(" (")[0].lower()
        raise UsageError(
            f"Cannot listen on {host}:{port}: {reason}. Try another --port; 0 selects a free port."
        ) from None


def listen_on_path(path: Path) -> socket.socket:
    """Listen on a Unix socket that only its owner can connect to; a stale socket is replaced."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_dead_socket(path)
        listening.bind(str(path))
        listening.listen()
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"Cannot listen on {path}: {reason}. Specify another --socket.") from None
    finally:
        os.umask(before)
    return listening


def _remove_dead_socket(path: Path) -> None:
    """Remove the socket of a server that was killed; leave other files alone."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            try:
                client.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()


def open_server(
    store: str, listening: socket.socket, token: str | None, *, is_local: bool
) -> "DashboardServer":
    """Create the server; its dependencies are imported here."""
    try:
        server = importlib.import_module("sonde.web.server")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("sonde"):
            raise
        raise MissingExtraError(
            f"The dashboard requires {error.name}. Install with: pip install sonde"
        ) from error
    library = importlib.import_module("sonde.web.library")
    job_library = library.Library(store, SystemClock(), rule_page)
    opened: DashboardServer = server.DashboardServer(
        job_library, listening, token, is_local=is_local
    )
    return opened


@lru_cache(maxsize=512)  # searching for an unknown rule takes 250 ms
def rule_page(name: str) -> Mapping[str, Any] | None:
    """The documentation of a built-in rule; None for a job's custom rules."""
    rules = importlib.import_module("sonde.rules")
    pages = importlib.import_module("sonde.cli.rules")
    try:
        page: Mapping[str, Any] = pages.rule_document(rules.load_rule(name))
    except UsageError:
        return None
    return page


def address_of(host: str, port: int, token: str | None) -> str:
    """The link to open in a browser."""
    if host in _ALL_INTERFACES:
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{f'?token={token}' if token else ''}"
