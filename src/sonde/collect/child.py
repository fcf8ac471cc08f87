"""Runs the command as if nobody watched: its signals, its terminal and its exit are its own.

The command runs in the launcher's own process group, so that the terminal, the shell's job control
and pipes treat both as one. Signals that go to the whole group reach the command by themselves;
those sent to the launcher alone are handed on. A canary, a tiny process in the group that only
tells which signals reach it, makes the difference visible: without it a command would get the
signals of `timeout`, of a scheduler or of a closing terminal twice.
"""

import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType

_GROUP_SIGNALS = (signal.SIGINT, signal.SIGQUIT)  # from the keyboard: always to the whole group
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_CANARY_SECONDS = 0.1


class Canary:
    """A process that reports the signals that reach every member of the group."""

    def __init__(self) -> None:
        self._reports, report = os.pipe()
        life, self._life = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._life)
            os.close(self._reports)
            _sing(life, report)
        os.close(life)
        os.close(report)

    def heard(self, number: int) -> bool:
        """Whether the signal has just reached the canary too, that is, the whole group."""
        while select.select([self._reports], [], [], _CANARY_SECONDS)[0]:
            reported = os.read(self._reports, 1)
            if not reported:  # it was killed; nothing is known of the group any more
                return False
            if reported[0] == number:
                return True
        return False

    def close(self) -> None:
        """Lets it go; killed, because one that was suspended would not see its life end."""
        os.close(self._life)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._reports)


def _sing(life: int, report: int) -> None:
    """The canary's whole life; never returns."""

    def tell(number: int, _frame: FrameType | None) -> None:
        os.write(report, bytes([number]))

    for number in (*_FORWARDED, *_GROUP_SIGNALS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, tell)
    try:
        os.read(life, 1)
    finally:
        os._exit(0)


class Child:
    """The command while it runs."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._canary = Canary()
        self._process: subprocess.Popen[bytes] | None = None
        self._hush()
        try:
            # inherited descriptors stay open: make's job server and shell redirections use them
            self._process = subprocess.Popen(command, env=environment, close_fds=False)
        except OSError:
            self._canary.close()
            raise
        self.pid = self._process.pid

    def wait(self) -> int:
        """Waits for the end; the exit code, or minus the signal that killed it."""
        assert self._process is not None
        while True:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self._process.returncode = os.waitstatus_to_exitcode(status)
                self._canary.close()
                return self._process.returncode
            # the command stopped itself: stop too, so that the shell sees it and can go on
            os.kill(os.getpid(), signal.SIGSTOP)

    def send(self, number: int) -> None:
        """Sends a signal to the command, if it runs."""
        if self._process is not None and self._process.returncode is None:
            try:
                os.kill(self._process.pid, number)
            except ProcessLookupError:
                return

    def _hush(self) -> None:
        """Takes our own hands off the signals; what was ignored before stays ignored for both."""
        for number in (*_GROUP_SIGNALS, *_FORWARDED, signal.SIGCONT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        is_ours_alone = number in _FORWARDED and not self._canary.heard(number)
        if is_ours_alone or number == signal.SIGCONT:
            self.send(number)
