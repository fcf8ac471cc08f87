"""A TCP proxy on the loopback interface that fails on request."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self


class FlakyProxy:
    """Forwards to a local port, and refuses connections or hangs on request."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._flowing = threading.Event()
        self._flowing.set()
        self._delay_seconds = 0.0
        self._arrived = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = self._bound(0)
        self.port: int = self._listener.getsockname()[1]
        self._listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flowing.set()
        self._cut()
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def refuse(self) -> None:
        """Close all connections; the system refuses new ones."""
        self._cut()
        self._listener.close()
        self._listener = self._bound(self.port)

    def hang(self) -> None:
        """Accept connections and data without forwarding anything."""
        self._arrived.clear()
        self._flowing.clear()

    def slow_down(self, seconds: float) -> None:
        """Delay all data from clients, as a remote store does."""
        self._delay_seconds = seconds

    def recover(self) -> None:
        """Forward again, including data that was held back."""
        if not self._flowing.is_set():
            self._flowing.set()
        else:
            self._listen()

    def wait_for_a_held_request(self, timeout_seconds: float) -> bool:
        """Wait until data has arrived that is not forwarded."""
        return self._arrived.wait(timeout_seconds)

    def _bound(self, port: int) -> socket.socket:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))  # bound without listen(), the port refuses connections
        return listener

    def _listen(self) -> None:
        self._listener.listen(64)
        self._acceptor = self._spawn(self._accept, self._listener)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client = listener.accept()[0]
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._target_port))
        with self._lock:
            self._open |= {client, server}
        self._spawn(self._pump_slowly, client, server)
        self._spawn(self._pump, server, client)

    def _pump_slowly(self, source: socket.socket, drain: socket.socket) -> None:
        self._pump(source, drain, lambda: time.sleep(self._delay_seconds))

    def _pump(
        self,
        source: socket.socket,
        drain: socket.socket,
        wait: Callable[[], None] = lambda: None,
    ) -> None:
        with contextlib.suppress(OSError):  # one side has closed
            while data := source.recv(65536):
                wait()
                if not self._flowing.is_set():
                    self._arrived.set()
                    self._flowing.wait()
                drain.sendall(data)
        with self._lock:
            ours = {source, drain} & self._open
            self._open -= ours
        for end in ours:
            _shut(end)
            end.close()

    def _cut(self) -> None:
        _shut(self._listener)
        self._acceptor.join(10)  # accept no more connections
        with self._lock:
            for end in self._open:
                _shut(end)

    def _spawn(self, target: Callable[..., None], *ends: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=target, args=ends, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread


def _shut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
