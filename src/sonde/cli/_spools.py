"""Send spools: data on this machine that has not reached its object store yet."""

import threading
from typing import Any

from sonde.agent.relay import standby_process
from sonde.agent.spool_takeover import is_running
from sonde.clock import SystemClock
from sonde.errors import StoreError
from sonde.guard import Guard
from sonde.read.jobs import JobFacts
from sonde.store.backends import Backend
from sonde.store.spool import Spool, find_unsent, local_spools, spools_at

_WAIT_SECONDS = 5.0
_POLL_SECONDS = 0.05
_LOCK_SECONDS = 2.0


def send_spools(uri: str) -> list[Spool]:
    """Start sending the unsent spools of a store or job, each in its own process; return them.

    Args:
        uri: A store or a job. Folders have no spools.
    """
    if "://" not in uri or uri.startswith("file:"):
        return []
    return Guard().attempt("sending", lambda: _send(uri), [])


def send_spools_of(backend: Backend) -> None:
    """Start sending the spools of a job; wait briefly for those that are complete."""
    clock, never_set = SystemClock(), threading.Event()
    deadline = clock.seconds() + _WAIT_SECONDS
    pending = [spool for spool in send_spools(backend.uri) if not is_running(spool.facts)]
    while any(spool.folder.exists() for spool in pending) and clock.seconds() < deadline:
        clock.wait(never_set, _POLL_SECONDS)


def remove_spools_of(backend: Backend) -> None:
    """Remove the spools of a removed job, unless a process is still sending them."""
    for spool in local_spools():
        if _belongs_to(spool, backend.uri) and spool.take_lock(SystemClock(), _LOCK_SECONDS):
            spool.remove()


def unsent_rows(backend: Backend, facts: JobFacts) -> list[dict[str, Any]]:
    """The folders with a job's unsent data, and their sizes.

    These are the spools of lost attempts on any machine, and all other spools on this machine:
    if a launcher is killed early, nothing in the store names its spool.
    """
    rows: list[dict[str, Any]] = []
    for attempt in facts.attempts:
        if attempt.unsent:
            row = _unsent_row(attempt.attempt.node, attempt.unsent)
            for spool in spools_at(attempt.unsent, backend.uri):
                row |= _size_of(spool, backend)
            rows.append(row)
    listed = {row["folder"] for row in rows}
    for spool in _other_spools(backend, facts):
        size = _size_of(spool, backend)
        if str(spool.folder) not in listed and size["files"]:
            rows.append(_unsent_row(spool.facts.node, str(spool.folder)) | size)
    return rows


def _unsent_row(node: str, folder: str) -> dict[str, Any]:
    return {"node": node, "folder": folder, "files": None, "bytes": None}


def _size_of(spool: Spool, backend: Backend) -> dict[str, int]:
    unsent = find_unsent(spool.source, backend)
    return {"files": unsent.files, "bytes": unsent.bytes}


def _other_spools(backend: Backend, facts: JobFacts) -> list[Spool]:
    """The job's spools on this machine, except those of running attempts."""
    attempts = [attempt for attempt in facts.attempts if not attempt.state.is_over]
    running = {(attempt.attempt.node, attempt.attempt.number) for attempt in attempts}
    spools = [spool for spool in local_spools() if _belongs_to(spool, backend.uri)]
    return [spool for spool in spools if (spool.facts.node, spool.facts.number) not in running]


def _send(uri: str) -> list[Spool]:
    spools = [spool for spool in local_spools() if _belongs_to(spool, uri)]
    idle = [spool for spool in spools if not spool.is_being_sent()]
    for spool in idle:
        standby_process(spool, SystemClock()).start()
    return spools


def _belongs_to(spool: Spool, uri: str) -> bool:
    try:
        job = spool.facts.job_uri
    except StoreError:  # it is being created or removed
        return False
    return f"{job}/".startswith(f"{uri.rstrip('/')}/")
