"""Requests to a job: what its launcher does, and what it hands on to workers elsewhere."""

import uuid

from sonde.clock import SystemClock
from sonde.collect.recording import Recording
from sonde.collect.registration import Registration
from sonde.records.request import Request, RequestKind
from sonde.settings import RunSettings
from sonde.store.backends import open_backend
from sonde.store.control import LAST_STEP, Inbox, replies_to, send_request


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
