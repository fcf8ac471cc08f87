"""Requests to a job: what its launcher does, and what it hands on to workers elsewhere."""

import uuid
from pathlib import Path

import pytest

from sonde.agent.recording import Recording
from sonde.agent.registration import Registration
from sonde.agent.relay import Relay
from sonde.clock import SystemClock
from sonde.records.job import Attempt, Launcher
from sonde.records.request import Request, RequestKind
from sonde.settings import RunSettings
from sonde.store.backends import Entry, open_backend
from sonde.store.backends.memory import Memory
from sonde.store.control import LAST_STEP, Inbox, replies_to, send_request
from sonde.store.layout import attempt_key
from sonde.store.spool import Spool, SpoolFacts


def test_workers_that_read_another_folder_hear_of_what_concerns_them() -> None:
    backend, clock = open_backend(f"memory://{uuid.uuid4().hex}/job"), SystemClock()
    place = Registration("job", "node-a", 1, backend, is_creator=True)
    stopped: list[Request] = []

    def stop(request: Request) -> str:
        stopped.append(request)
        return "it ends"

    recording = Recording(place, RunSettings(), clock, stop)
    handed_on: list[Request] = []
    recording.hand_on = handed_on.append
    inbox = Inbox(backend, "node-a")
    asked = [
        send_request(backend, clock, RequestKind.PROFILE, {"kinds": "python"}),
        send_request(backend, clock, RequestKind.PLACE, {}),
        send_request(backend, clock, RequestKind.STOP, {LAST_STEP: "7"}),
        send_request(backend, clock, RequestKind.STOP, {}),
    ]
    recording._answer(inbox)

    profile, where, last_step, at_once = asked
    assert handed_on == [profile, where, last_step]
    assert stopped == [last_step, at_once]
    answered = [set(replies_to(backend, one)) for one in asked]
    assert answered == [set(), set(), {"node-a"}, {"node-a"}]


def test_the_start_is_in_the_spool_before_a_slow_store_is_asked_for_anything(
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
    place = Registration("job", "node-a", 1, target, is_creator=True)
    relay = Relay(spool, target, clock)
    recording = Recording(place, RunSettings(), clock, lambda _request: "", relay=relay)
    launcher = Launcher(1, "", "")
    recording.start(Attempt("node-a", 1, 0, ("true",), "/", 1, launcher, 0.5))
    spool.release()

    assert was_there[0]
    assert not target.exists(key)
