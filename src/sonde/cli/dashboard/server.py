"""What `ui` and `run --ui` share: a server over a store, and the address to open."""

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


def listen_on_path(path: Path) -> socket.socket:
    """A Unix socket that only its owner can connect to; one that nobody listens on is replaced."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_dead_socket(path)
        listening.bind(str(path))
        listening.listen()
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"Cannot listen on {path}: {reason}. Name another --socket.") from None
    finally:
        os.umask(before)
    return listening


def _remove_dead_socket(path: Path) -> None:
    """Remove what a server left behind that was killed; leave anything else alone."""
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
    """A server that listens; what it needs is loaded only now."""
    try:
        server = importlib.import_module("sonde.web.server")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("sonde"):
            raise
        raise MissingExtraError(
            f"The dashboard needs {error.name}, which is not installed: pip install sonde"
        ) from error
    library = importlib.import_module("sonde.web.library")
    shelf = library.Library(store, SystemClock(), _rule_page)
    opened: DashboardServer = server.DashboardServer(shelf, listening, token, is_local=is_local)
    return opened


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


def address_of(host: str, port: int, token: str | None) -> str:
    """The link to open in a browser."""
    if host in _EVERYWHERE:
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{f'?token={token}' if token else ''}"
