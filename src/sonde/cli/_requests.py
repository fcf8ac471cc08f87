"""Asks something of a running job and waits until everybody who was asked has answered."""

import threading
from collections.abc import Iterable

from sonde.cli._command import Options, remark, say, say_json
from sonde.clock import SystemClock
from sonde.read.jobs import read_job
from sonde.read.listeners import listeners
from sonde.records.request import Reply, RequestKind
from sonde.store.backends import Backend
from sonde.store.control import replies_to, send_request, worker_name
from sonde.store.places import find_job

_PATIENCE_SECONDS = 10.0
_SILENCE_SECONDS = 1.0  # after so long somebody wonders what is going on
_MOST_NAMES = 4
_WORKER = worker_name(0)[:-1]


def ask(
    options: Options,
    kind: RequestKind,
    arguments: dict[str, str],
) -> int:
    """Sends the request, prints the answers; 1 if somebody refused or did not answer."""
    clock = SystemClock()
    backend = find_job(options.job, options.store)
    facts = read_job(backend, clock.now_ns())
    names = listeners(facts, kind)
    replies = _replies(backend, clock, kind, arguments, names)
    silent = _in_order(names - replies.keys())
    if options.json:
        answers = {
            name: {"done": replies[name].is_done, "message": replies[name].message}
            for name in _in_order(replies)
        }
        say_json({"job": facts.name, "replies": answers, "no_reply": silent})
    else:
        for message, same in _by_message(replies).items():
            say(f"{_some(same)}: {message}")
        for name in silent:
            say(f"{name}: no answer yet; it may still follow the request")
    return 0 if not silent and all(reply.is_done for reply in replies.values()) else 1


def _replies(
    backend: Backend,
    clock: SystemClock,
    kind: RequestKind,
    arguments: dict[str, str],
    names: set[str],
) -> dict[str, Reply]:
    request = send_request(backend, clock, kind, arguments)
    start, patience = clock.seconds(), _PATIENCE_SECONDS + 3 * backend.poll_seconds
    is_told = False
    never = threading.Event()
    while True:
        replies = replies_to(backend, request)
        if names <= replies.keys() or clock.seconds() >= start + patience:
            return replies
        if not is_told and clock.seconds() >= start + _SILENCE_SECONDS:
            is_told = True
            remark(f"waiting for {_some(names - replies.keys())}, up to {patience:.0f} s")
        clock.wait(never, min(0.1, backend.poll_seconds))


def _by_message(replies: dict[str, Reply]) -> dict[str, list[str]]:
    """Who says the same; one who says it alone, alone."""
    found: dict[str, list[str]] = {}
    for name in _in_order(replies):
        found.setdefault(replies[name].message, []).append(name)
    return found


def _in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name))


def _some(names: Iterable[str]) -> str:
    ordered = _in_order(names)
    kind = "workers" if ordered[0].startswith(_WORKER) else "nodes"
    return ", ".join(ordered) if len(ordered) <= _MOST_NAMES else f"{len(ordered)} {kind}"
