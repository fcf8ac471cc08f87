"""Check whether launchers and other processes are alive."""

import os
from pathlib import Path

from sonde.clock import NANOSECONDS
from sonde.errors import StoreError
from sonde.records.job import Attempt, Heartbeat, Launcher
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts
from sonde.store.links import read_link

_MISSED_BEATS = 3
_SLACK_SECONDS = 10.0


def this_process() -> Launcher:
    """The identity of this process, for `is_alive`."""
    return process_with(os.getpid())


def process_with(pid: int) -> Launcher:
    """The identity of a process on this machine, for `is_alive`."""
    return Launcher(pid, _started(pid), _space())


def is_present(backend: Backend, attempt: Attempt, now_ns: int) -> bool:
    """Whether a launcher is alive: by its process if it is local, else by its heartbeat."""
    alive = is_alive(attempt.launcher)
    if alive is not None:
        return alive
    beat = last_heartbeat(backend, attempt.node, attempt.number)
    if beat is None:
        due_seconds = _SLACK_SECONDS + _MISSED_BEATS * backend.flush_seconds
        return now_ns - attempt.start_ns < due_seconds * NANOSECONDS
    due_seconds = _SLACK_SECONDS + _MISSED_BEATS * beat.every_seconds
    return now_ns - (beat.wall_ns or beat.time_ns) < due_seconds * NANOSECONDS


def is_alive(process: Launcher) -> bool | None:
    """Whether a process is alive; None if it is not visible from here."""
    if process.space and process.space == _space():
        return _started(process.pid) == process.started
    return None


def is_stopped(pid: int) -> bool:
    """Whether a process is suspended; False if it is not visible."""
    return _state_and_start(pid)[0] in (b"T", b"t")


def last_heartbeat(backend: Backend, node: str, number: int) -> Heartbeat | None:
    """The last sign of life of an attempt, if there is a readable one."""
    key = layout.attempt_key(node, number, "heartbeat")
    try:
        return decode_facts(Heartbeat, backend.read(key), key)
    except StoreError:
        return None


def _started(pid: int) -> str:
    """When a process was started, in clock ticks since boot; empty if it does not exist."""
    state, started = _state_and_start(pid)
    return "" if state in (b"Z", b"X") else started


def _state_and_start(pid: int) -> tuple[bytes, str]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return b"", ""
    fields = stat.rpartition(b")")[2].split()
    return (fields[0], fields[19].decode()) if len(fields) > 19 else (b"", "")


def _space() -> str:
    """The boot ID of this machine and the PID namespace; empty if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    space = read_link("/proc/self/ns/pid")
    return f"{boot} {space}" if space else ""
