"""A tiny process in the command's process group that detects signals to the whole group.

A signal to the group has reached the command already; a signal to the launcher alone must be
forwarded. The launcher can only tell them apart by asking another process of the group. The probe
also wakes a suspended launcher whose command was continued by another process.
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

FORWARDED_SIGNALS = (
    *(signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN),  # from the terminal
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2),
)

_PATIENCE_SECONDS = 0.1  # time limit for a report
_RECENT_SECONDS = 0.3  # older reports belong to earlier signals
_WATCH_SECONDS = 0.1
_REPORT = struct.Struct("=Bd")  # signal, time received
_ORDER = struct.Struct("=i")  # the process to monitor; 0: none


class SignalProbe:
    """Starts and queries the probe, in the launcher.

    Raises:
        OSError: The system is out of descriptors or processes.
    """

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._last_heard: dict[int, float] = {}
        with contextlib.ExitStack() as opened:  # closed if the rest fails
            self._reports, report = _pipe(opened)
            orders, self._orders = _pipe(opened)
            launcher = os.getpid()
            self.pid = os.fork()
            if self.pid == 0:
                os.close(self._orders)
                os.close(self._reports)
                try:
                    _run(launcher, orders, report)
                finally:
                    os._exit(0)
            opened.pop_all()
        os.close(orders)
        os.close(report)

    def heard(self, number: int) -> bool:
        """Whether a signal that the launcher just received went to the whole group."""
        now = self._clock.seconds()
        deadline = now + _PATIENCE_SECONDS
        while self._last_heard.get(number, 0.0) < now - _RECENT_SECONDS:
            patience = max(0.0, deadline - self._clock.seconds())
            if not select.select([self._reports], [], [], patience)[0]:
                return number in _pending(self.pid)  # received, but not handled yet
            report = os.read(self._reports, _REPORT.size)
            if not report:  # the probe was killed
                return False
            reported, instant = _REPORT.unpack(report)
            self._last_heard[reported] = instant
        return True

    def watch(self, pid: int) -> None:
        """Wake this process when another one is no longer stopped; 0 disables this."""
        try:
            os.kill(self.pid, signal.SIGCONT)  # it may be suspended, too
            os.write(self._orders, _ORDER.pack(pid))
        except (BrokenPipeError, ProcessLookupError):
            return

    def close(self) -> None:
        """Stop the probe, even if it is suspended."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._orders)
        os.close(self._reports)


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    opened.callback(os.close, reading)
    opened.callback(os.close, writing)
    return reading, writing


def _run(launcher: int, orders: int, report: int) -> None:
    """Run the probe until the launcher exits."""
    clock = SystemClock()

    def report_signal(number: int, _frame: FrameType | None) -> None:
        os.write(report, _REPORT.pack(number, clock.seconds()))

    for number in FORWARDED_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, report_signal)
    _rename_process()
    watched = 0
    while True:
        if select.select([orders], [], [], _WATCH_SECONDS if watched else None)[0]:
            order = os.read(orders, _ORDER.size)
            if not order:
                return
            watched = _ORDER.unpack(order)[0]
        elif watched and is_stopped(launcher) and not is_stopped(watched):
            os.kill(launcher, signal.SIGCONT)


def _rename_process() -> None:
    """Change the name and arguments, so that `pkill -f` for the launcher does not match the probe.

    Otherwise such a signal would look like one to the whole group and never reach the command.
    """
    try:
        Path("/proc/self/comm").write_text("signal-probe")
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(b"signal-probe".ljust(end - start, b"\0")[: end - start])
    except (OSError, ValueError, IndexError):
        return


def _pending(pid: int) -> set[int]:
    """Pending signals of a process."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return set()
    lines = (line.split() for line in status.splitlines())
    bits = 0
    for name, *values in lines:
        if name in ("SigPnd:", "ShdPnd:"):
            bits |= int(values[0], 16)
    return {number for number in FORWARDED_SIGNALS if bits >> (number - 1) & 1}
