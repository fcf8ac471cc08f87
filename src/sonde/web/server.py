"""Runs the server: in the foreground for a person, or in a thread beside something else."""

import socket
import threading
from functools import partial
from types import TracebackType

from sonde.guard import Guard
from sonde.web.app import create_app
from sonde.web.connections import BoundedServer, Limits, process_limits
from sonde.web.library import Library
from sonde.web.security import Door

_GRACE_SECONDS = 1  # pages that listen never end by themselves


class DashboardServer:
    """A server over a store; as a context it runs in a thread of its own."""

    def __init__(
        self,
        library: Library,
        listening: socket.socket,
        token: str | None = None,
        *,
        is_local: bool = True,
        limits: Limits | None = None,
    ) -> None:
        """A server that answers on a socket.

        Args:
            library: The jobs.
            listening: A TCP or a Unix socket.
            token: What it takes to come in; None: nothing.
            is_local: Whether only this machine can reach the socket.
            limits: For clients; those of this process unless given.
        """
        self._socket = listening
        self._library = library
        self.port = 0
        if listening.family != socket.AF_UNIX:
            # else an answer of two parts waits 40 ms for the browser to say that it has the first
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.port = int(listening.getsockname()[1])
        app = create_app(library, Door(self.port, token, is_local))
        self._server = BoundedServer(app, limits or process_limits(), _GRACE_SECONDS)
        self._thread: threading.Thread | None = None

    def read_ahead(self) -> None:
        """Begins to read all jobs, so that a list of thousands can be searched at once.

        Not where every look is a request to somebody else.
        """
        if "://" not in self._library.store:
            read = partial(
                Guard().attempt, "reading ahead", self._library.catalogue.read_ahead, None
            )
            threading.Thread(target=read, name="sonde-ahead", daemon=True).start()

    def serve(self) -> None:
        """Until Ctrl-C."""
        self._server.run([self._socket])

    def __enter__(self) -> "DashboardServer":
        # a thread gets no signals, so that the server leaves them to whom it runs beside
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
