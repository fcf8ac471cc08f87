"""Send a request to a running job and wait for the replies of its nodes or workers."""

import threading
from collections.abc import Iterable

from sonde.cli._command import Options, print_json, print_line, print_note
from sonde.clock import SystemClock
from sonde.formats import format_duration
from sonde.read.jobs import read_job
from sonde.read.listeners import listeners
from sonde.records.request import Reply, RequestKind
from sonde.store.backends import Backend
from sonde.store.control import replies_to, send_request, worker_name
from sonde.store.places import find_job

_TIMEOUT_SECONDS = 10.0
_ANNOUNCE_SECONDS = 1.0  # then say what we are waiting for
_MAX_NAMES = 4
_WORKER_PREFIX = worker_name(0)[:-1]


def send_and_print(
    options: Options,
    kind: RequestKind,
    arguments: dict[str, str],
) -> int:
    """Send the request and print the replies; return 1 if one was refused or is missing."""
    clock = SystemClock()
    backend = find_job(options.job, options.store)
    facts = read_job(backend, clock.now_ns())
    names = listeners(facts, kind)
    replies = _replies(backend, clock, kind, arguments, names)
    silent = _sort_names(names - replies.keys())
    if options.json:
        answers = {
            name: {"done": replies[name].is_done, "message": replies[name].message}
            for name in _sort_names(replies)
        }
        print_json({"job": facts.name, "replies": answers, "no_reply": silent})
    else:
        for message, names_of_message in _group_by_message(replies).items():
            print_line(f"{_join_names(names_of_message)}: {message}")
        for name in silent:
            print_line(f"{name}: no reply yet; the request may still take effect")
    return 0 if not silent and all(reply.is_done for reply in replies.values()) else 1


def _replies(
    backend: Backend,
    clock: SystemClock,
    kind: RequestKind,
    arguments: dict[str, str],
    names: set[str],
) -> dict[str, Reply]:
    request = send_request(backend, clock, kind, arguments)
    start, patience = clock.seconds(), _TIMEOUT_SECONDS + 3 * backend.poll_seconds
    is_announced = False
    never_set = threading.Event()
    while True:
        replies = replies_to(backend, request)
        if names <= replies.keys() or clock.seconds() >= start + patience:
            return replies
        if not is_announced and clock.seconds() >= start + _ANNOUNCE_SECONDS:
            is_announced = True
            missing = _join_names(names - replies.keys())
            print_note(f"Waiting for {missing}, up to {format_duration(patience)}")
        clock.wait(never_set, min(0.1, backend.poll_seconds))


def _group_by_message(replies: dict[str, Reply]) -> dict[str, list[str]]:
    """The senders of each message."""
    names_by_message: dict[str, list[str]] = {}
    for name in _sort_names(replies):
        names_by_message.setdefault(replies[name].message, []).append(name)
    return names_by_message


def _sort_names(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name))


def _join_names(names: Iterable[str]) -> str:
    ordered = _sort_names(names)
    kind = "workers" if ordered[0].startswith(_WORKER_PREFIX) else "nodes"
    return ", ".join(ordered) if len(ordered) <= _MAX_NAMES else f"{len(ordered)} {kind}"
