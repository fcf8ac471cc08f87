"""Control requests, and the start of a recording with a slow store."""

import uuid
from pathlib import Path

import pytest

from sonde.agent.control import ControlRequests
from sonde.agent.documents import AttemptDocuments
from sonde.agent.heartbeat import HeartbeatWriter
from sonde.agent.recording import Recording
from sonde.agent.registration import Registration
from sonde.agent.relay import Relay
from sonde.clock import SystemClock
from sonde.guard import Guard
from sonde.records.job import Attempt, Launcher
from sonde.records.request import Request, RequestKind
from sonde.settings import RunSettings
from sonde.store.backends import Entry, open_backend
from sonde.store.backends.memory import Memory
from sonde.store.control import LAST_STEP, Inbox, replies_to, send_request
from sonde.store.layout import attempt_key, node_folder
from sonde.store.spool import Spool, SpoolFacts
from sonde.store.writer import Writer


def test_requests_for_workers_are_forwarded_and_others_answered() -> None:
    backend, clock = open_backend(f"memory://{uuid.uuid4().hex}/job"), SystemClock()
    registration = Registration("job", "node-a", 1, backend, is_creator=True)
    stopped: list[Request] = []

    def stop(request: Request) -> str:
        stopped.append(request)
        return "it ends"

    forwarded: list[Request] = []
    writer = Writer(backend, node_folder("node-a"), clock)
    documents = AttemptDocuments(registration, backend, writer, clock, Guard())
    heartbeat = HeartbeatWriter(documents, writer, clock, 1.0, lambda: 0.0)
    control = ControlRequests(heartbeat, writer, clock, stop, forwarded.append)
    inbox = Inbox(backend, "node-a")
    requests = [
        send_request(backend, clock, RequestKind.PROFILE, {"kinds": "python"}),
        send_request(backend, clock, RequestKind.PLACE, {}),
        send_request(backend, clock, RequestKind.STOP, {LAST_STEP: "7"}),
        send_request(backend, clock, RequestKind.STOP, {}),
    ]
    control.answer(inbox)

    profile, placement, last_step, immediate = requests
    assert forwarded == [profile, placement, last_step]
    assert stopped == [last_step, immediate]
    answered = [set(replies_to(backend, request)) for request in requests]
    assert answered == [set(), set(), {"node-a"}, {"node-a"}]


def test_start_is_written_to_the_spool_before_a_slow_store_responds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    key = attempt_key("node-a", 1, "start")
    was_there: list[bool] = []

    class Slow(Memory):
        def entries(self, folder: str) -> list[Entry]:
            was_there.append(spool.source.exists(key))
            recording._over.set()  # the command is over before the store has answered
            return super().entries(folder)

    target, clock = Slow(f"memory://{uuid.uuid4().hex}/job"), SystemClock()
    spool = Spool.create(SpoolFacts(target.uri, "node-a", 1, "run"))
    registration = Registration("job", "node-a", 1, target, is_creator=True)
    relay = Relay(spool, target, clock)
    recording = Recording(registration, RunSettings(), clock, lambda _request: "", relay=relay)
    launcher = Launcher(1, "", "")
    recording.start(Attempt("node-a", 1, 0, ("true",), "/", 1, launcher, 0.5))
    spool.release()

    assert was_there[0]
    assert not target.exists(key)
