"""What lies on this machine and has not reached its object store: commands that see it send it."""

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
    """Starts a process for each spool of a store or job that nobody sends; returns those.

    Args:
        uri: A store or a job; of a folder nothing is ever on its way.
    """
    if "://" not in uri or uri.startswith("file:"):
        return []
    return Guard().attempt("sending", lambda: _send(uri), [])


def send_spools_of(backend: Backend) -> None:
    """The same for one job; waits a moment for what will not grow any more."""
    clock, never = SystemClock(), threading.Event()
    deadline = clock.seconds() + _WAIT_SECONDS
    waiting = [spool for spool in send_spools(backend.uri) if not is_running(spool.facts)]
    while any(spool.folder.exists() for spool in waiting) and clock.seconds() < deadline:
        clock.wait(never, _POLL_SECONDS)


def remove_spools_of(backend: Backend) -> None:
    """Removes what lies here of a job that was removed, unless a process is still at it."""
    for spool in local_spools():
        if _belongs_to(spool, backend.uri) and spool.take_lock(SystemClock(), _LOCK_SECONDS):
            spool.remove()


def unsent_rows(backend: Backend, facts: JobFacts) -> list[dict[str, Any]]:
    """Where the rest of a job lies that its launcher could not send, and how much it is."""
    rows: list[dict[str, Any]] = []
    for one in facts.attempts:
        if one.unsent:
            row: dict[str, Any] = {
                "node": one.attempt.node,
                "folder": one.unsent,
                "files": None,
                "bytes": None,
            }
            for spool in spools_at(one.unsent, backend.uri):
                unsent = find_unsent(spool.source, backend)
                row |= {"files": unsent.files, "bytes": unsent.bytes}
            rows.append(row)
    return rows


def _send(uri: str) -> list[Spool]:
    found = [spool for spool in local_spools() if _belongs_to(spool, uri)]
    idle = [spool for spool in found if not spool.is_being_sent()]
    for spool in idle:
        standby_process(spool, SystemClock()).start()
    return found


def _belongs_to(spool: Spool, uri: str) -> bool:
    try:
        job = spool.facts.job_uri
    except StoreError:  # it is being made, or removed
        return False
    return f"{job}/".startswith(f"{uri.rstrip('/')}/")
