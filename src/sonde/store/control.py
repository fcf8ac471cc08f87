"""Requests to a running job and the replies, as documents in the store."""

import os

from sonde.clock import Clock
from sonde.errors import DamagedError, KeyMissingError
from sonde.records.request import Reply, Request, RequestKind
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.facts import decode_facts, encode_facts

# Arguments of a stop request: how long the job may take to end, and the last step of its workers.
PATIENCE = "patience_seconds"
LAST_STEP = "last_step"
# Argument of a stop request from inside a worker: its rank.
FROM_WORKER = "from_worker"
# Arguments of a request to workers: ranks or nodes; all by default.
TO_WORKERS = "workers"
TO_NODES = "nodes"


def worker_name(rank: int) -> str:
    """The name of a worker in its replies."""
    return f"worker-{rank}"


def send_request(
    backend: Backend, clock: Clock, kind: RequestKind, arguments: dict[str, str]
) -> Request:
    """Write a request to all nodes of the job."""
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
    return [request for request in requests if request.kind is kind and request.time_ns >= since_ns]


def replies_to(backend: Backend, request: Request) -> dict[str, Reply]:
    """The replies received so far, by node."""
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
    """The unread requests of one node or worker."""

    def __init__(self, backend: Backend, node: str) -> None:
        self._backend = backend
        self._node = node
        self._returned = {entry.key for entry in backend.entries(layout.REQUESTS)}

    def new_requests(self) -> list[Request]:
        """Requests since the last call, oldest first."""
        requests = []
        for entry in self._backend.entries(layout.REQUESTS):
            if entry.key not in self._returned:
                self._returned.add(entry.key)
                try:
                    content = self._backend.read(entry.key)
                    requests.append(decode_facts(Request, content, entry.key))
                except (DamagedError, KeyMissingError):  # the sender reports the missing reply
                    continue
        return requests

    def reply(self, request: Request, clock: Clock, *, is_done: bool, message: str) -> None:
        """Reply to a request."""
        reply = Reply(request.id, self._node, clock.now_ns(), is_done, message)
        key = layout.reply_key(request.id, self._node)
        self._backend.write(key, encode_facts(reply, key))
