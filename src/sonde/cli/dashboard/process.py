"""The dashboard beside a job: a process of its own, so that the job never waits for it.

It has the socket and the one end of a pipe from us. When we are gone, however that came, the pipe
ends, and so does it.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

from sonde.cli.dashboard.server import DEFAULT_PORT, LOOPBACK, address_of
from sonde.cli.dashboard.token import load_token
from sonde.errors import MissingExtraError
from sonde.guard import Guard
from sonde.store.places import absolute_store

_NEEDED = ("starlette", "uvicorn")
_END_SECONDS = 3.0
_ENDS_US = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def check_installed() -> None:
    """Raises where the dashboard cannot run; nothing of it is loaded for that."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"--ui needs {' and '.join(missing)}, which is not installed: pip install sonde"
        )


@contextlib.contextmanager
def dashboard_beside(store: str | None, tell: Callable[[str], None]) -> Iterator[None]:
    """A dashboard over a store, if one is named; what runs goes on without it where it cannot be.

    On a terminal it stays when that is done, until Ctrl-C.
    """
    beside = None
    if store is not None:
        try:
            beside = _Beside(absolute_store(store))
            tell(f"dashboard: {beside.address}")
        except OSError as error:
            tell(f"no dashboard: {(error.strerror or str(error)).lower()}")
    try:
        yield
        if beside is not None:
            Guard().call("the dashboard", partial(beside.stay, tell), None)
    finally:
        if beside is not None:
            Guard().call("the dashboard", beside.close, None)


class _Beside:
    """A dashboard over a store, as long as this object is not closed."""

    def __init__(self, store: str) -> None:
        """Listens first, so that the address is known whatever becomes of the process.

        Raises:
            OSError: No port is free, or no process can be started.
        """
        with _listening() as listening:
            token = load_token()
            self.address = address_of(LOOPBACK, listening.getsockname()[1], token)
            reading, self._writing = os.pipe()
            os.write(self._writing, f"{token}\n".encode())  # arguments can be seen by everybody
            number = str(listening.fileno())
            # -P: nothing in the job's folder is taken for a part of us
            command = [sys.executable, "-P", "-m", "sonde", "ui"]
            command += ["--store", store, "--inherited-socket", number]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=reading,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(listening.fileno(),),
                    start_new_session=True,  # Ctrl-C is for the job
                )
            except OSError:
                os.close(self._writing)
                raise
            finally:
                os.close(reading)

    def stay(self, tell: Callable[[str], None]) -> None:
        """Waits for Ctrl-C, where somebody is there to press it."""
        if not _is_terminal() or self._process.poll() is not None:
            return
        # the job's end has made us deaf to all of them, also to the end of the terminal
        for number in _ENDS_US:
            signal.signal(number, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            tell(f"the dashboard stays at {self.address} until Ctrl-C")
            self._process.wait()
        for number in _ENDS_US:
            signal.signal(number, signal.SIG_IGN)

    def close(self) -> None:
        """Ends it."""
        os.close(self._writing)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _listening() -> socket.socket:
    """The usual port; any other where it is taken."""
    try:
        return socket.create_server((LOOPBACK, DEFAULT_PORT))
    except OSError:
        return socket.create_server((LOOPBACK, 0))


def _is_terminal() -> bool:
    streams = (sys.stdin, sys.stderr)
    return all(one is not None and one.isatty() for one in streams)
