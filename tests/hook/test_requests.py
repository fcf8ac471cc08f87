"""What a worker is asked for while it trains."""

import threading

import torch
from torch import nn

from sonde.records.request import Reply, Request, RequestKind
from sonde.store.control import replies_to, send_request
from tests.fakes.eventually import eventually
from tests.fakes.profiler import fake_profilers
from tests.fakes.session import Recorded, watched


class Loop:
    """Trains until it has an answer."""

    def __init__(self, recorded: Recorded) -> None:
        self.session = recorded.session
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.train()

    def train(self) -> None:
        self.model(torch.ones(3, 4)).square().mean().backward()
        self.optimizer.step()

    def ask(self, **arguments: str) -> Request:
        backend, clock = self.session.store.backend, self.session.clock
        return send_request(backend, clock, RequestKind.PROFILE, {"by": "me", **arguments})

    def answer_to(self, request: Request, *, is_training: bool = True) -> Reply:
        def is_answered() -> bool:
            if is_training:
                self.train()
            return bool(replies_to(self.session.store.backend, request))

        assert eventually(is_answered)
        [(name, reply)] = replies_to(self.session.store.backend, request).items()
        assert name == "worker-0"
        return reply


def test_a_worker_profiles_what_it_is_asked_for_one_kind_after_the_other() -> None:
    with fake_profilers("operators", "python") as told, watched() as recorded:
        loop = Loop(recorded)
        reply = loop.answer_to(loop.ask(kinds="operators,python", steps="4"))
        while len(told.calls) < 4:
            loop.train()

    assert [call[:2] for call in told.calls] == [
        *(("begin", "operators"), ("end", "operators")),
        *(("begin", "python"), ("end", "python")),
    ]
    first = told.calls[0][2]
    assert first is not None
    assert reply.is_done
    assert reply.message.startswith(f"operators in steps {first}–{first + 3}; python ")


def test_a_worker_whose_step_takes_long_answers_before_it_is_over() -> None:
    with fake_profilers("python"), watched() as recorded:
        loop = Loop(recorded)
        reply = loop.answer_to(loop.ask(kinds="python", seconds="2"), is_training=False)

    assert (reply.is_done, reply.message) == (True, "python scheduled for 2 s")


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    with fake_profilers("python") as told, watched() as recorded:
        loop = Loop(recorded)
        unknown = loop.answer_to(loop.ask(kinds="colours", steps="1"))
        missing = loop.answer_to(loop.ask(kinds="memory", steps="1"))
        told.refusal = "another tool is profiling"
        refused = loop.answer_to(loop.ask(kinds="python", steps="1"))

    assert [one.is_done for one in (unknown, missing, refused)] == [False] * 3
    assert "'colours' is invalid. Choose one of: operators, dataloader, python" in unknown.message
    assert missing.message == "memory: no memory profiler is available"
    assert refused.message == "python: another tool is profiling"


def test_a_request_to_other_workers_is_left_to_them() -> None:
    with fake_profilers("python") as told, watched() as recorded:
        loop = Loop(recorded)
        elsewhere = [
            loop.ask(kinds="python", steps="1", workers="1,2"),
            loop.ask(kinds="python", steps="1", nodes="node-b"),
            loop.ask(kinds="python", steps="1", workers="0", nodes="node-b"),
        ]
        reply = loop.answer_to(loop.ask(kinds="python", steps="1", workers="0", nodes="node-a"))
        begun = [call for call in told.calls if call[0] == "begin"]
        unanswered = [replies_to(recorded.session.store.backend, one) for one in elsewhere]

    assert reply.is_done
    assert len(begun) == 1
    assert unanswered == [{}, {}, {}]


def test_requests_of_before_a_worker_began_are_not_its_own() -> None:
    with fake_profilers("python") as told, watched() as recorded:
        loop = Loop(recorded)
        old = loop.ask(kinds="python", steps="1")
        of_parent = recorded.session.worker_thread
        of_parent.close(10.0)
        recorded.session.reset()
        told.calls.clear()
        loop.train()
        loop.answer_to(loop.ask(kinds="python", steps="1"))
        before = [call for call in told.calls if call[0] == "begin"]

    assert len(before) == 1
    assert old.kind is RequestKind.PROFILE


def test_a_backroom_looks_again_and_again() -> None:
    with watched() as recorded:
        Loop(recorded)
        looks = threading.Semaphore(0)
        recorded.session.worker_thread.poll(looks.release, 0.01)
        for _ in range(3):
            assert looks.acquire(timeout=30)
