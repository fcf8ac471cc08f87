"""Runs the command as if nobody watched: its signals, its terminal and its exit are its own.

The command runs in the launcher's own process group, so that the terminal, the shell's job control
and pipes treat both as one. Signals that go to the whole group reach the command by themselves;
those sent to the launcher alone are handed on, once: the canary tells them apart. When the command
is suspended the launcher suspends itself, so that the shell sees it.
"""

import contextlib
import errno
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NoReturn

from sonde.collect.canary import HEARD, Canary
from sonde.store.presence import is_stopped

_SHELL = "/bin/sh"


class Child:
    """The command while it runs.

    Raises:
        OSError: The command cannot be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        self._early: list[int] = []  # signals that came before there was anybody to have them
        self._settling: set[int] = set()
        self._canary = Canary()
        self._alarm = _Alarm()
        for wanted in (*HEARD, signal.SIGCONT):
            # what was ignored before stays ignored for both
            if signal.getsignal(wanted) is not signal.SIG_IGN:
                signal.signal(wanted, self._on_signal)
        try:
            self._process = _start(command, environment)
        except OSError:
            self._end()
            raise
        self.pid = self._process.pid
        for number in self._early:
            self.send(number)

    def wait(self) -> int:
        """Waits for the end; the exit code, or minus the signal that killed it."""
        assert self._process is not None
        while True:
            pid, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if not pid:
                self._alarm.wait()
                continue
            if not os.WIFSTOPPED(status):
                self._end()
                self._process.returncode = os.waitstatus_to_exitcode(status)
                return self._process.returncode
            self._canary.watch(self.pid)
            os.kill(os.getpid(), signal.SIGSTOP)
            self._canary.watch(0)

    def send(self, number: int) -> None:
        """Sends a signal to the command, if it runs."""
        if self._process is not None and not self._is_over:
            try:
                os.kill(self._process.pid, number)
            except ProcessLookupError:
                return

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._is_over or number in self._settling:
            return
        if self._process is None:
            self._early.append(number)
            return
        self._settling.add(number)  # another one like it while we wait for the canary is the same
        try:
            if number == signal.SIGCONT:
                has_reached_it = not is_stopped(self._process.pid)
            else:
                has_reached_it = self._canary.heard(number) and self._is_in_our_group()
            if not has_reached_it:
                self.send(number)
        finally:
            self._settling.discard(number)

    def _end(self) -> None:
        """From here on only the exit code counts: no late signal may change it."""
        self._is_over = True
        for number in HEARD:  # ignored, because Python takes its own handlers down on its way out
            signal.signal(number, signal.SIG_IGN)
        self._canary.close()
        self._alarm.close()

    def _is_in_our_group(self) -> bool:
        assert self._process is not None
        try:
            return os.getpgid(self._process.pid) == os.getpgrp()
        except ProcessLookupError:
            return True


class _Alarm:
    """Wakes the main thread at every signal, also when the kernel hands it to another thread.

    Python runs handlers in the main thread only, and a thread that waits for a child does not
    notice that another one was interrupted.
    """

    def __init__(self) -> None:
        self._wakes, self._wake = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._wake, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def wait(self) -> None:
        """Until a signal has come since the last time; its handler has run by then."""
        select.select([self._wakes], [], [])
        with contextlib.suppress(BlockingIOError):
            os.read(self._wakes, 4096)

    def close(self) -> None:
        """Lets signals come as they did before."""
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.close(self._wakes)
        os.close(self._wake)


def become(command: list[str]) -> NoReturn:
    """Turns this process into the command, as if we had never been there.

    Raises:
        OSError: The command cannot be started.
    """
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these, and exec keeps that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execv(_SHELL, _for_the_shell(command))


def _start(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    # the C library's posix_spawn leaves two signals ignored that were not
    subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc] # noqa: SLF001 — documented
    # inherited descriptors stay open: make's job server and shell redirections use them
    try:
        return subprocess.Popen(command, env=environment, close_fds=False)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return subprocess.Popen(_for_the_shell(command), env=environment, close_fds=False)


def _for_the_shell(command: Sequence[str]) -> list[str]:
    """A script without a `#!` line, which shells and execvp hand to the shell."""
    return [_SHELL, shutil.which(command[0]) or command[0], *command[1:]]
