"""Requests to a running job and its replies: documents in the store, one writer each."""

import os

from sonde.clock import Clock
from sonde.errors import DamagedError, KeyMissingError
from sonde.records.request import Reply, Request, RequestKind
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts

# Of a request to stop: for so long the job may end by itself, and after which step its workers do.
PATIENCE = "patience_seconds"
LAST_STEP = "last_step"
# Of a request to workers: who is meant, by rank or by node; without them, all.
TO_WORKERS = "workers"
TO_NODES = "nodes"


def worker_name(rank: int) -> str:
    """How a worker signs its replies."""
    return f"worker-{rank}"


def send_request(
    backend: Backend, clock: Clock, kind: RequestKind, arguments: dict[str, str]
) -> Request:
    """Puts a request where every node of the job looks for it."""
    now_ns = clock.now_ns()
    request = Request(f"{now_ns:020d}-{os.urandom(4).hex()}", kind, now_ns, arguments)
    key = layout.request_key(request.id)
    backend.write(key, encode_facts(request, key))
    return request


def read_requests(backend: Backend, kind: RequestKind, since_ns: int) -> list[Request]:
    """All requests of a kind since an instant, oldest first."""
    requests = []
    for entry in sorted(backend.entries(layout.REQUESTS), key=lambda entry: entry.key):
        try:
            requests.append(decode_facts(Request, backend.read(entry.key), entry.key))
        except (DamagedError, KeyMissingError):
            continue
    return [one for one in requests if one.kind is kind and one.time_ns >= since_ns]


def replies_to(backend: Backend, request: Request) -> dict[str, Reply]:
    """What the nodes have answered so far."""
    replies = {}
    for entry in backend.entries(layout.REPLIES):
        if entry.key.startswith(f"{layout.REPLIES}/{request.id}."):
            try:
                reply = decode_facts(Reply, backend.read(entry.key), entry.key)
            except (DamagedError, KeyMissingError):
                continue
            replies[reply.node] = reply
    return replies


class Inbox:
    """The requests that one node, or one worker, has not seen yet."""

    def __init__(self, backend: Backend, node: str) -> None:
        self._backend = backend
        self._node = node
        self._seen = {entry.key for entry in backend.entries(layout.REQUESTS)}

    def new_requests(self) -> list[Request]:
        """Requests that came since the last look, oldest first."""
        requests = []
        for entry in self._backend.entries(layout.REQUESTS):
            if entry.key not in self._seen:
                self._seen.add(entry.key)
                try:
                    content = self._backend.read(entry.key)
                    requests.append(decode_facts(Request, content, entry.key))
                except (DamagedError, KeyMissingError):  # the sender gets no reply, and says so
                    continue
        return requests

    def reply(self, request: Request, clock: Clock, *, is_done: bool, message: str) -> None:
        """Answers a request."""
        reply = Reply(request.id, self._node, clock.now_ns(), is_done, message)
        key = layout.reply_key(request.id, self._node)
        self._backend.write(key, encode_facts(reply, key))
