"""Limits on connections: their number, and how long requests and replies may take.

A client that connects and sends nothing costs a file descriptor. A thousand of them would leave
none for other clients and for the files of the store.
"""

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sonde.guard import log

_MAX_CONNECTIONS = 1024
_MAX_BACKLOG = 128
_MAX_QUEUE = 1024
_LOG_INTERVAL_SECONDS = 60.0
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 40\r\n"
    b"Retry-After: 5\r\nConnection: close\r\n\r\nToo many connections. Try again shortly."
)
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server for its clients."""

    connections: int = _MAX_CONNECTIONS
    backlog: int = _MAX_BACKLOG  # accepted in one batch, before they are counted
    request_seconds: float = 10.0  # to receive a complete request
    stalled_seconds: float = 30.0  # without any progress in sending a reply


def limits_for(descriptors: int) -> Limits:
    """The limits for a number of file descriptors; a share of them is reserved for the store."""
    return Limits(
        connections=min(_MAX_CONNECTIONS, descriptors * 5 // 8),
        backlog=max(8, min(_MAX_BACKLOG, descriptors // 8)),
    )


def process_limits() -> Limits:
    """The limits of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limits_for(1 << 30 if soft == resource.RLIM_INFINITY else soft)


class ClientLog:
    """Log lines about clients, each written up to once a minute, with a count."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def note(self, text: str) -> None:
        """Log a line, or count it if it was logged recently."""
        now = self._seconds()
        count = self._counts[text] = self._counts.get(text, 0) + 1
        if text in self._last and now - self._last[text] < _LOG_INTERVAL_SECONDS:
            return
        if len(self._last) > 100:
            self._last.clear()
            self._counts.clear()
        log.warning("%s%s", text, f" ({count - 1:,} times in a minute)" if count > 1 else "")
        self._last[text], self._counts[text] = now, 1 if count > 1 else count


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration, plus the connection limits."""

    limits: Limits
    client_log: ClientLog


class BoundedServer(uvicorn.Server):
    """A server that logs one line instead of a traceback for errors in the event loop."""

    def __init__(self, app: Any, limits: Limits, grace_seconds: int) -> None:
        config = BoundedConfig(
            app,
            http=BoundedConnection,
            ws="none",
            loop="asyncio",
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            backlog=limits.backlog,
            timeout_graceful_shutdown=grace_seconds,
        )
        config.limits = limits
        super().__init__(config)

    async def startup(self, sockets: Any = None) -> None:
        """Start listening."""
        loop = asyncio.get_running_loop()
        assert isinstance(self.config, BoundedConfig)
        self.config.client_log = ClientLog(loop.time)
        loop.set_exception_handler(self.exception_handler(self.config.client_log))
        await super().startup(sockets)
        for listening in sockets or ():
            # allow a longer queue than one batch: asyncio uses one number for both
            listening.listen(_MAX_QUEUE)

    @staticmethod
    def exception_handler(
        client_log: ClientLog,
    ) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
        """The event loop's handler for unhandled errors."""

        def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            text = str(context.get("message", "")).partition("\n")[0]
            client_log.note(f"dashboard: {text}: {type(error).__name__}: {error}")

        return handle


class BoundedConnection(H11Protocol):
    """A connection that is closed when its client takes too long."""

    def __init__(
        self,
        config: BoundedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = config.limits
        self._client_log = config.client_log
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self.waiting_since = self.loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection; if there are too many, close the one that has waited longest."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections and not self._make_room():
            self._client_log.note("dashboard: too many connections; refusing new connections")
            transport.write(_BUSY)
            transport.close()
            return
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers of the connection."""
        for timer in (self._request_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Start the timer for the next request."""
        self._await_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the stall timer: the client reads more slowly than the server sends."""
        super().pause_writing()
        self._await_progress()

    def resume_writing(self) -> None:
        """Stop the stall timer: the client has caught up."""
        super().resume_writing()
        if self._stall_timer is not None:
            self._stall_timer.cancel()

    @property
    def is_incomplete(self) -> bool:
        """Whether the client has yet to send a request, or the rest of one."""
        return self.conn.their_state in _INCOMPLETE or self.transport.is_closing()

    def _make_room(self) -> bool:
        candidates = [
            connection
            for connection in self.connections
            if isinstance(connection, BoundedConnection)
            and connection is not self
            and connection.is_incomplete
        ]
        if not candidates:
            return False
        self._client_log.note("dashboard: too many connections; closing idle connections")
        min(candidates, key=lambda connection: connection.waiting_since).abort()
        return True

    def abort(self) -> None:
        """Close the connection immediately and discard unsent data."""
        self.connections.discard(self)
        self.transport.abort()

    def _await_request(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
        self.waiting_since = self.loop.time()
        self._request_timer = self.loop.call_later(
            self._limits.request_seconds, self._check_request
        )

    def _check_request(self) -> None:
        if self.transport.is_closing():
            self._await_progress()
        elif self.is_incomplete:
            self.abort()

    def _await_progress(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
        self._stall_timer = self.loop.call_later(
            self._limits.stalled_seconds, self._check_progress, self._unsent
        )

    @property
    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _check_progress(self, before: int) -> None:
        if self._unsent >= before:
            self.abort()
        else:
            self._await_progress()
