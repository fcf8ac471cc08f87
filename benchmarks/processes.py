"""CPU time of every process that a command starts, read from /proc while they run."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_POLL_SECONDS = 0.02
_TICKS = os.sysconf("SC_CLK_TCK")
_BACKGROUND_SECONDS = 60.0  # for processes that outlive the command


@dataclass
class Usage:
    """One process: what it is, and its CPU time when it was last read."""

    words: tuple[str, ...]
    cpu_seconds: float = 0.0
    seen_seconds: float = 0.0  # when it was last running


@dataclass
class Measured:
    """A finished command."""

    processes: dict[int, Usage] = field(default_factory=dict)
    wall_seconds: float = 0.0
    code: int = 0
    ended_seconds: float = 0.0


def measure(command: Sequence[str], folder: Path | None = None) -> Measured:
    """Run a command on a terminal, and return the CPU time of all its processes.

    Those that outlive it are included.
    Processes that live for less than 20 ms between two readings are missed, and so are the last
    milliseconds of the others.
    """
    measured = Measured()
    began = time.monotonic()
    screen, keyboard = os.openpty()
    os.set_blocking(screen, False)
    shown: list[bytes] = []
    with subprocess.Popen(
        command,
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        cwd=folder,
        start_new_session=True,
    ) as process:
        known = {process.pid}
        _poll(measured, known, lambda: process.poll() is None, lambda: shown.append(_shown(screen)))
        measured.ended_seconds = time.monotonic()
        measured.wall_seconds = measured.ended_seconds - began
        measured.code = process.wait()
    if measured.code:
        sys.stderr.write(b"".join(shown).decode(errors="replace"))
    os.close(screen)
    os.close(keyboard)
    due = time.monotonic() + _BACKGROUND_SECONDS
    _poll(measured, known, lambda: time.monotonic() < due and _any_running(measured), _nothing)
    return measured


def _poll(
    measured: Measured,
    known: set[int],
    is_running: Callable[[], bool],
    on_poll: Callable[[], object],
) -> None:
    while is_running():
        _read(measured, known)
        on_poll()
        time.sleep(_POLL_SECONDS)
    _read(measured, known)


def _read(measured: Measured, known: set[int]) -> None:
    """Update all descendants."""
    rows = dict(_rows())
    is_new = True
    while is_new:
        new = {pid for pid, (parent, _, _) in rows.items() if parent in known} - known
        known |= new
        is_new = bool(new)
    now = time.monotonic()
    for pid in known & rows.keys():
        _, state, cpu_seconds = rows[pid]
        words = _words(pid)
        usage = measured.processes.setdefault(pid, Usage(words))
        usage.words = words or usage.words
        usage.cpu_seconds = max(usage.cpu_seconds, cpu_seconds)
        if state not in "ZX":
            usage.seen_seconds = now


def _rows() -> "list[tuple[int, tuple[int, str, float]]]":
    """Parent, state and CPU time of all processes."""
    rows = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            seconds = (int(fields[11]) + int(fields[12])) / _TICKS
            rows.append((int(path.name), (int(fields[1]), fields[0].decode(), seconds)))
    return rows


def _words(pid: int) -> tuple[str, ...]:
    try:
        return tuple(Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1])
    except OSError:
        return ()


def _any_running(measured: Measured) -> bool:
    running = {pid for pid, (_, state, _) in _rows() if state not in "ZX"}
    return bool(running & measured.processes.keys())


def _shown(screen: int) -> bytes:
    """What was written to the terminal since the last call."""
    try:
        return os.read(screen, 65536)
    except BlockingIOError:
        return b""


def _nothing() -> None:
    """Do nothing."""
