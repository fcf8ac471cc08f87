"""Requests and replies: each node receives each request once."""

from sonde.records.request import RequestKind
from sonde.store.control import Inbox, replies_to, send_request
from sonde.store.layout import REQUESTS
from tests.fakes.clock import FakeClock
from tests.fakes.damage import flipped
from tests.fakes.job import FakeJob

CLOCK = FakeClock()


def test_each_node_gets_a_request_once_and_replies_are_listed_by_node() -> None:
    backend = FakeJob().backend
    inboxes = {node: Inbox(backend, node) for node in ("a", "node.with.dots")}

    sent = send_request(backend, CLOCK, RequestKind.SET, {"interval": "1s"})

    for node, inbox in inboxes.items():
        (request,) = inbox.new_requests()
        assert request == sent
        assert inbox.new_requests() == []
        inbox.reply(request, CLOCK, is_done=node == "a", message=f"said {node}")
    replies = replies_to(backend, sent)
    assert {node: (each.is_done, each.message) for node, each in replies.items()} == {
        "a": (True, "said a"),
        "node.with.dots": (False, "said node.with.dots"),
    }


def test_requests_of_an_earlier_attempt_are_ignored() -> None:
    backend = FakeJob().backend
    send_request(backend, CLOCK, RequestKind.STOP, {})

    assert Inbox(backend, "a").new_requests() == []


def test_requests_are_returned_in_the_order_they_were_sent() -> None:
    backend = FakeJob().backend
    inbox = Inbox(backend, "a")
    clock = FakeClock()
    for number in range(5):
        send_request(backend, clock, RequestKind.SET, {"n": str(number)})
        clock.advance(0.001)

    assert [request.arguments["n"] for request in inbox.new_requests()] == ["0", "1", "2", "3", "4"]


def test_a_damaged_request_is_skipped() -> None:
    backend = FakeJob().backend
    inbox = Inbox(backend, "a")
    send_request(backend, CLOCK, RequestKind.STOP, {})
    (entry,) = backend.entries(REQUESTS)
    backend.write(entry.key, flipped(backend.read(entry.key), 200))

    assert inbox.new_requests() == []


def test_replies_to_other_requests_are_not_included() -> None:
    backend = FakeJob().backend
    inbox = Inbox(backend, "a")
    first = send_request(backend, CLOCK, RequestKind.STOP, {})
    second = send_request(backend, CLOCK, RequestKind.STOP, {})
    inbox.reply(first, CLOCK, is_done=True, message="")

    assert replies_to(backend, second) == {}


def test_a_damaged_reply_is_ignored() -> None:
    backend = FakeJob().backend
    inbox = Inbox(backend, "a")
    request = send_request(backend, CLOCK, RequestKind.STOP, {})
    inbox.reply(request, CLOCK, is_done=True, message="")
    key = next(entry.key for entry in backend.entries("control/replies"))
    backend.write(key, flipped(backend.read(key), 200))

    assert replies_to(backend, request) == {}
