"""Bounds on connections: how many, how long a request may take to arrive, an answer to leave.

A client that connects and says nothing costs a file descriptor. A thousand of them would leave
none for honest clients and for the files of the store.
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

_MOST_CONNECTIONS = 1024
_MOST_BACKLOG = 128
_LONGEST_QUEUE = 1024
_QUIET_SECONDS = 60.0
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 40\r\n"
    b"Retry-After: 5\r\nConnection: close\r\n\r\nToo many connections. Try again shortly."
)
_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server allows its clients."""

    connections: int = _MOST_CONNECTIONS
    backlog: int = _MOST_BACKLOG  # accepted at once, before any of them is counted
    request_seconds: float = 10.0  # for a whole request to arrive
    stalled_seconds: float = 30.0  # in which nothing of an answer was taken


def limits_for(descriptors: int) -> Limits:
    """The limits of a process that may open so many files: part of them stays for the store."""
    return Limits(
        connections=min(_MOST_CONNECTIONS, descriptors * 5 // 8),
        backlog=max(8, min(_MOST_BACKLOG, descriptors // 8)),
    )


def process_limits() -> Limits:
    """The limits of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limits_for(1 << 30 if soft == resource.RLIM_INFINITY else soft)


class Journal:
    """Log lines about clients: each once a minute at most, with how often it happened."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def note(self, text: str) -> None:
        """Log it, or count it."""
        now = self._seconds()
        count = self._counts[text] = self._counts.get(text, 0) + 1
        if text in self._last and now - self._last[text] < _QUIET_SECONDS:
            return
        if len(self._last) > 100:
            self._last.clear()
            self._counts.clear()
        log.warning("%s%s", text, f" ({count - 1:,} times in a minute)" if count > 1 else "")
        self._last[text], self._counts[text] = now, 1 if count > 1 else count


class BoundedConfig(uvicorn.Config):
    """uvicorn's settings, and our limits for the connections that it makes."""

    limits: Limits
    journal: Journal


class BoundedServer(uvicorn.Server):
    """A server whose event loop logs one line where it would write tracebacks."""

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
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        assert isinstance(self.config, BoundedConfig)
        self.config.journal = Journal(loop.time)
        loop.set_exception_handler(self.exception_handler(self.config.journal))
        await super().startup(sockets)
        for listening in sockets or ():
            # more may queue than are accepted at once: asyncio has one number for both
            listening.listen(_LONGEST_QUEUE)

    @staticmethod
    def exception_handler(
        journal: Journal,
    ) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
        """What the event loop calls when nobody else handles an error."""

        def handle(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            text = str(context.get("message", "")).partition("\n")[0]
            journal.note(f"dashboard: {text}: {type(error).__name__}: {error}")

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
        self._journal = config.journal
        self._request_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self.waiting_since = self.loop.time()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it; where there are too many, the one that waits longest goes."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections and not self._make_room():
            self._journal.note("dashboard: too many connections; new ones are refused")
            transport.write(_BUSY)
            transport.close()
            return
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        for timer in (self._request_timer, self._stall_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The time for the next request begins."""
        self._await_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client takes less than we send."""
        super().pause_writing()
        self._await_progress()

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        super().resume_writing()
        if self._stall_timer is not None:
            self._stall_timer.cancel()

    @property
    def is_incomplete(self) -> bool:
        """Whether the client has yet to send a request, or the rest of one."""
        return self.conn.their_state in _INCOMPLETE or self.transport.is_closing()

    def _make_room(self) -> bool:
        others = [
            other
            for other in self.connections
            if isinstance(other, BoundedConnection) and other is not self and other.is_incomplete
        ]
        if not others:
            return False
        self._journal.note("dashboard: too many connections; those without a request are closed")
        min(others, key=lambda other: other.waiting_since).abort()
        return True

    def abort(self) -> None:
        """Close it now, and forget what was not sent yet."""
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
