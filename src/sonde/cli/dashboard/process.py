"""The dashboard of `sonde run --ui`: a separate process, so that the job never waits for it.

It inherits the listening socket and the read end of a pipe. When the launcher exits for any reason,
the pipe closes and the dashboard exits.
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

_REQUIRED = ("starlette", "uvicorn")
_END_SECONDS = 3.0
_EXIT_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def check_installed() -> None:
    """Raise MissingExtraError if the dashboard cannot run; imports nothing."""
    missing = [name for name in _REQUIRED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"--ui requires {' and '.join(missing)}. Install with: pip install sonde"
        )


@contextlib.contextmanager
def dashboard_process(store: str | None, print_note: Callable[[str], None]) -> Iterator[None]:
    """Run a dashboard for a store, if there is one; failures are reported and ignored.

    On a terminal, it stays available after the body until Ctrl-C.
    """
    dashboard = None
    if store is not None:
        try:
            dashboard = _DashboardProcess(absolute_store(store))
            print_note(f"Dashboard: {dashboard.address}")
        except OSError as error:
            print_note(f"Cannot start the dashboard: {(error.strerror or str(error)).lower()}")
    try:
        yield
        if dashboard is not None:
            Guard().call("dashboard", partial(dashboard.stay, print_note), None)
    finally:
        if dashboard is not None:
            Guard().call("dashboard", dashboard.close, None)


class _DashboardProcess:
    """A dashboard process that runs until it is closed."""

    def __init__(self, store: str) -> None:
        """Listen, then start the process: the address is known before it is ready.

        Raises:
            OSError: No port is free, or no process can be started.
        """
        with _listen() as listening:
            token = load_token()
            self.address = address_of(LOOPBACK, listening.getsockname()[1], token)
            reading, self._writing = os.pipe()
            os.write(self._writing, f"{token}\n".encode())  # every user can see arguments
            number = str(listening.fileno())
            # -P: do not import modules from the job's folder
            command = [sys.executable, "-P", "-m", "sonde", "ui"]
            command += ["--store", store, "--inherited-socket", number]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=reading,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(listening.fileno(),),
                    start_new_session=True,  # only the job receives Ctrl-C
                )
            except OSError:
                os.close(self._writing)
                raise
            finally:
                os.close(reading)

    def stay(self, print_note: Callable[[str], None]) -> None:
        """Wait for Ctrl-C if there is a terminal."""
        if not _is_terminal() or self._process.poll() is not None:
            return
        # the launcher ignores these signals once the job has ended
        for number in _EXIT_SIGNALS:
            signal.signal(number, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            print_note(f"Dashboard available at {self.address} until Ctrl-C")
            self._process.wait()
        for number in _EXIT_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def close(self) -> None:
        """Stop the process."""
        os.close(self._writing)
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _listen() -> socket.socket:
    """Listen on the default port, or on a free one if it is taken."""
    try:
        return socket.create_server((LOOPBACK, DEFAULT_PORT))
    except OSError:
        return socket.create_server((LOOPBACK, 0))


def _is_terminal() -> bool:
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)
