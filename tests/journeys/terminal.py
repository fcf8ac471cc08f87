"""A terminal that tests can type into."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.journeys.sonde_cli import plain_environment

SHELL = ("bash", "--norc", "--noprofile", "-i")
_PROMPT = "ready-for-more$ "


class Terminal:
    """A pseudo-terminal whose command runs in its own session in the foreground."""

    def __init__(self, folder: Path, rows: int = 33, columns: int = 101) -> None:
        self._folder = folder
        self._master, self._slave = os.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = ""
        self.shown = ""

    def start(self, words: Sequence[str]) -> "subprocess.Popen[bytes]":
        """Run a command on the terminal."""
        self._process = subprocess.Popen(
            words,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            cwd=self._folder,
            env={**plain_environment(), "TERM": "xterm", "PS1": _PROMPT, "HISTFILE": ""},
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 — the only way to a controlling terminal
        )
        return self._process

    def start_shell(self) -> None:
        """Start an interactive shell with job control."""
        self.start(SHELL)
        self.expect_prompt()

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._master, keys.encode())

    def enter(self, line: str) -> str:
        """Enter a line in the shell and return its output up to the next prompt."""
        self.type(f"{line}\n")
        self.expect("\r\n")
        return self.expect_prompt()

    def expect_prompt(self) -> str:
        """Wait for the prompt of the shell."""
        return self.expect(_PROMPT)

    def expect(self, text: str, within_seconds: float = 90.0) -> str:
        """Wait until the text appears and return the output before it."""
        return self.expect_match(re.escape(text), within_seconds).string_before

    def expect_match(self, pattern: str, within_seconds: float = 90.0) -> "Shown":
        """Wait until output matches the pattern."""
        deadline = time.monotonic() + within_seconds
        while (result := re.search(pattern, self._unread)) is None:
            remaining = deadline - time.monotonic()
            if remaining < 0 or not select.select([self._master], [], [], remaining)[0]:
                raise AssertionError(f"no {pattern!r} on the terminal: {self.shown!r}")
            self._read()
        before = self._unread[: result.start()]
        self._unread = self._unread[result.end() :]
        return Shown(result, before)

    def wait(self, within_seconds: float = 90.0) -> int:
        """Return the exit code of the command, reading the terminal until then."""
        assert self._process is not None
        deadline = time.monotonic() + within_seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.02)[0]:
                self._read()
        while select.select([self._master], [], [], 0)[0]:
            self._read()
        assert self._process.returncode is not None, self.shown
        return self._process.returncode

    def close(self) -> None:
        """Kill the command and close the terminal."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._slave)
        os.close(self._master)

    def _read(self) -> None:
        text = os.read(self._master, 65536).decode(errors="replace")
        self._unread += text
        self.shown += text


class Shown:
    """A match on the terminal and the output before it."""

    def __init__(self, match: "re.Match[str]", before: str) -> None:
        self.match = match
        self.string_before = before


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
