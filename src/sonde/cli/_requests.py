"""Asks something of a running job and waits until every node has answered."""

import threading

from sonde.cli._command import Options, remark, say, say_json
from sonde.clock import SystemClock
from sonde.errors import JobNotRunningError
from sonde.read.jobs import read_job
from sonde.records.job import JobState
from sonde.records.request import Reply, RequestKind
from sonde.store.backends import Backend
from sonde.store.control import replies_to, send_request
from sonde.store.places import find_job

_PATIENCE_SECONDS = 10.0
_SILENCE_SECONDS = 1.0  # after so long somebody wonders what is going on


def ask(options: Options, kind: RequestKind, arguments: dict[str, str]) -> int:
    """Sends the request, prints the answers; 1 if a node refused or did not answer."""
    clock = SystemClock()
    backend = find_job(options.job, options.store)
    facts = read_job(backend, clock.now_ns())
    nodes = {one.attempt.node for one in facts.latest if one.state is JobState.RUNNING}
    if not nodes:
        raise JobNotRunningError(f"Job {facts.name!r} does not run: it is {facts.state.value}.")
    replies = _replies(backend, clock, kind, arguments, nodes)
    silent = sorted(nodes - replies.keys())
    if options.json:
        answers = {
            node: {"done": reply.is_done, "message": reply.message}
            for node, reply in sorted(replies.items())
        }
        say_json({"job": facts.name, "replies": answers, "no_reply": silent})
    else:
        for node, reply in sorted(replies.items()):
            say(f"{node}: {reply.message}")
        for node in silent:
            say(f"{node}: no answer yet; it may still follow the request")
    return 0 if not silent and all(reply.is_done for reply in replies.values()) else 1


def _replies(
    backend: Backend,
    clock: SystemClock,
    kind: RequestKind,
    arguments: dict[str, str],
    nodes: set[str],
) -> dict[str, Reply]:
    request = send_request(backend, clock, kind, arguments)
    start, patience = clock.seconds(), _PATIENCE_SECONDS + 3 * backend.poll_seconds
    is_told = False
    never = threading.Event()
    while True:
        replies = replies_to(backend, request)
        if nodes <= replies.keys() or clock.seconds() >= start + patience:
            return replies
        if not is_told and clock.seconds() >= start + _SILENCE_SECONDS:
            is_told = True
            remark(f"waiting for {_some(nodes - replies.keys())}, up to {patience:.0f} s")
        clock.wait(never, min(0.1, backend.poll_seconds))


def _some(nodes: set[str]) -> str:
    names = sorted(nodes)
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} nodes"
