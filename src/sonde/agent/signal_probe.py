"""A tiny process in the command's group that tells which signals reach the whole group.

A signal sent to the group has reached the command already; one sent to the launcher alone has to be
handed on. The launcher cannot see the difference, except by asking somebody else in the group. The
canary also wakes a suspended launcher whose command was continued by others.
"""

import contextlib
import os
import select
import signal
import struct
from pathlib import Path
from types import FrameType

from sonde.clock import SystemClock
from sonde.store.presence import is_stopped

HEARD = (
    *(signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN),  # from the terminal
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
)

_PATIENCE_SECONDS = 0.1  # how long a report may take
_RECENT_SECONDS = 0.3  # an older report is of an earlier signal
_WATCH_SECONDS = 0.1
_REPORT = struct.Struct("=Bd")  # signal, when it came
_ORDER = struct.Struct("=i")  # the process to watch, 0: none


class Canary:
    """The launcher's side of it.

    Raises:
        OSError: No more files or processes can be had.
    """

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._last_heard: dict[int, float] = {}
        with contextlib.ExitStack() as opened:  # closed again where the rest cannot be had
            self._reports, report = _pipe(opened)
            orders, self._orders = _pipe(opened)
            launcher = os.getpid()
            self.pid = os.fork()
            if self.pid == 0:
                os.close(self._orders)
                os.close(self._reports)
                try:
                    _sing(launcher, orders, report)
                finally:
                    os._exit(0)
            opened.pop_all()
        os.close(orders)
        os.close(report)

    def heard(self, number: int) -> bool:
        """Whether a signal that has just come here came to the whole group."""
        now = self._clock.seconds()
        deadline = now + _PATIENCE_SECONDS
        while self._last_heard.get(number, 0.0) < now - _RECENT_SECONDS:
            patience = max(0.0, deadline - self._clock.seconds())
            if not select.select([self._reports], [], [], patience)[0]:
                return number in _pending(self.pid)  # it came, and the machine is busy
            report = os.read(self._reports, _REPORT.size)
            if not report:  # it was killed; nothing is known of the group any more
                return False
            reported, instant = _REPORT.unpack(report)
            self._last_heard[reported] = instant
        return True

    def watch(self, pid: int) -> None:
        """Has this process woken when that one is no longer stopped; 0 ends the watch."""
        try:
            os.kill(self.pid, signal.SIGCONT)  # it may have been suspended with us
            os.write(self._orders, _ORDER.pack(pid))
        except (BrokenPipeError, ProcessLookupError):
            return

    def close(self) -> None:
        """Lets it go, even if it was suspended."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._orders)
        os.close(self._reports)


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    opened.callback(os.close, reading)
    opened.callback(os.close, writing)
    return reading, writing


def _sing(launcher: int, orders: int, report: int) -> None:
    """The canary's whole life; it ends when the launcher does."""
    clock = SystemClock()

    def tell(number: int, _frame: FrameType | None) -> None:
        os.write(report, _REPORT.pack(number, clock.seconds()))

    for number in HEARD:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, tell)
    _take_another_name()
    watched = 0
    while True:
        if select.select([orders], [], [], _WATCH_SECONDS if watched else None)[0]:
            order = os.read(orders, _ORDER.size)
            if not order:
                return
            watched = _ORDER.unpack(order)[0]
        elif watched and is_stopped(launcher) and not is_stopped(watched):
            os.kill(launcher, signal.SIGCONT)


def _take_another_name() -> None:
    """Whoever looks for the launcher by its name or its arguments (pkill -f) must not find us.

    A signal that reached launcher and canary that way would pass for one to the whole group, and
    never reach the command.
    """
    try:
        Path("/proc/self/comm").write_text("canary")
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(b"canary".ljust(end - start, b"\0")[: end - start])
    except (OSError, ValueError, IndexError):
        return


def _pending(pid: int) -> set[int]:
    """Signals that a process was sent and has not got round to."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return set()
    lines = (line.split() for line in status.splitlines())
    bits = 0
    for name, *values in lines:
        if name in ("SigPnd:", "ShdPnd:"):
            bits |= int(values[0], 16)
    return {number for number in HEARD if bits >> (number - 1) & 1}
