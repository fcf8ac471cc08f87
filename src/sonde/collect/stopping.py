"""A worker stops the job that it belongs to."""

import threading

from sonde.collect.session import Session
from sonde.records.request import RequestKind
from sonde.store.control import PATIENCE, replies_to, send_request

_PATIENCE_SECONDS = 60.0  # for the script to put its things in order
_REPLY_SECONDS = 3.0
_POLL_SECONDS = 0.05


def stop_job(session: Session, reason: str) -> None:
    """Tells all nodes that the job ends by itself, and waits a little until this one has heard."""
    clock = session.clock
    arguments = {"by": reason, PATIENCE: f"{_PATIENCE_SECONDS:g}"}
    request = send_request(session.backend, clock, RequestKind.STOP, arguments)
    deadline, never = clock.seconds() + _REPLY_SECONDS, threading.Event()
    while session.place.node not in replies_to(session.backend, request):
        if clock.seconds() >= deadline:
            return
        clock.wait(never, _POLL_SECONDS)
