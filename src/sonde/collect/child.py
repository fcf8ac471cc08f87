"""Runs the command as if nobody watched: its signals, its terminal and its exit are its own.

The command runs in the launcher's own process group, so that the terminal, the shell's job control
and pipes treat both as one. Signals that go to the whole group reach the command by themselves;
those sent to the launcher alone are handed on, once: the canary tells them apart. When the command
is suspended the launcher suspends itself, so that the shell sees it.
"""

import errno
import os
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
        for wanted in (*HEARD, signal.SIGCONT):
            # what was ignored before stays ignored for both
            if signal.getsignal(wanted) is not signal.SIG_IGN:
                signal.signal(wanted, self._on_signal)
        try:
            self._process = _start(command, environment)
        except OSError:
            self._is_over = True
            self._canary.close()
            raise
        self.pid = self._process.pid
        for number in self._early:
            self.send(number)

    def wait(self) -> int:
        """Waits for the end; the exit code, or minus the signal that killed it."""
        assert self._process is not None
        while True:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                self._is_over = True
                self._process.returncode = os.waitstatus_to_exitcode(status)
                self._canary.close()
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

    def _is_in_our_group(self) -> bool:
        assert self._process is not None
        try:
            return os.getpgid(self._process.pid) == os.getpgrp()
        except ProcessLookupError:
            return True


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
