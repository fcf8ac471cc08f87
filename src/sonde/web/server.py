"""The dashboard server, in the foreground or in a background thread."""

import socket
import threading
from functools import partial
from types import TracebackType

from sonde.guard import Guard
from sonde.web.app import create_app
from sonde.web.connections import BoundedServer, Limits, process_limits
from sonde.web.library import Library
from sonde.web.security import AccessPolicy

_GRACE_SECONDS = 1  # live update streams never end by themselves


class DashboardServer:
    """A server for a store; as a context manager it runs in a thread."""

    def __init__(
        self,
        library: Library,
        listening: socket.socket,
        token: str | None = None,
        *,
        is_local: bool = True,
        limits: Limits | None = None,
    ) -> None:
        """Create a server for a listening socket.

        Args:
            library: The jobs to serve.
            listening: A TCP or Unix socket.
            token: The token that clients need; None for no token.
            is_local: Whether only this machine can reach the socket.
            limits: Limits for clients; derived from this process by default.
        """
        self._socket = listening
        self._library = library
        self.port = 0
        if listening.family != socket.AF_UNIX:
            # without this, a reply in two packets waits 40 ms for a delayed acknowledgment
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.port = int(listening.getsockname()[1])
        app = create_app(library, AccessPolicy(self.port, token, is_local))
        self._server = BoundedServer(app, limits or process_limits(), _GRACE_SECONDS)
        self._thread: threading.Thread | None = None

    def read_ahead(self) -> None:
        """Read all jobs in the background, so that long lists can be searched quickly.

        Object stores are skipped, because each read is a request.
        """
        if "://" not in self._library.store:
            read = partial(Guard().attempt, "reading ahead", self._library.catalog.read_ahead, None)
            threading.Thread(target=read, name="sonde-ahead", daemon=True).start()

    def serve(self) -> None:
        """Serve until interrupted."""
        self._server.run([self._socket])

    def __enter__(self) -> "DashboardServer":
        # in a thread, uvicorn installs no signal handlers
        self._thread = threading.Thread(target=self.serve, name="sonde-ui", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(2 * _GRACE_SECONDS)
        self._socket.close()
