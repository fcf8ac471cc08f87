"""Requests to a worker during training."""

import threading

import torch
from torch import nn

from sonde.records.request import Reply, Request, RequestKind
from sonde.store.control import replies_to, send_request
from tests.fakes.eventually import eventually
from tests.fakes.profiler import fake_profilers
from tests.fakes.session import Recorded, watched


class Loop:
    """A training loop that waits for replies."""

    def __init__(self, recorded: Recorded) -> None:
        self.session = recorded.session
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.train()

    def train(self) -> None:
        self.model(torch.ones(3, 4)).square().mean().backward()
        self.optimizer.step()

    def send(self, **arguments: str) -> Request:
        backend, clock = self.session.store.backend, self.session.clock
        return send_request(backend, clock, RequestKind.PROFILE, {"by": "me", **arguments})

    def reply_to(self, request: Request, *, is_training: bool = True) -> Reply:
        def is_answered() -> bool:
            if is_training:
                self.train()
            return bool(replies_to(self.session.store.backend, request))

        assert eventually(is_answered)
        [(name, reply)] = replies_to(self.session.store.backend, request).items()
        assert name == "worker-0"
        return reply


def test_requested_profiles_run_one_kind_after_the_other() -> None:
    with fake_profilers("operators", "python") as fakes, watched() as recorded:
        loop = Loop(recorded)
        reply = loop.reply_to(loop.send(kinds="operators,python", steps="4"))
        while len(fakes.calls) < 4:
            loop.train()

    assert [call[:2] for call in fakes.calls] == [
        *(("begin", "operators"), ("end", "operators")),
        *(("begin", "python"), ("end", "python")),
    ]
    first = fakes.calls[0][2]
    assert first is not None
    assert reply.is_done
    assert reply.message.startswith(f"operators in steps {first}–{first + 3}; python ")


def test_worker_answers_before_a_long_step_ends() -> None:
    with fake_profilers("python"), watched() as recorded:
        loop = Loop(recorded)
        reply = loop.reply_to(loop.send(kinds="python", seconds="2"), is_training=False)

    assert (reply.is_done, reply.message) == (True, "python scheduled for 2 s")


def test_invalid_request_is_refused_with_a_reason() -> None:
    with fake_profilers("python") as fakes, watched() as recorded:
        loop = Loop(recorded)
        unknown = loop.reply_to(loop.send(kinds="colours", steps="1"))
        missing = loop.reply_to(loop.send(kinds="memory", steps="1"))
        fakes.refusal = "another tool is profiling"
        refused = loop.reply_to(loop.send(kinds="python", steps="1"))

    assert [reply.is_done for reply in (unknown, missing, refused)] == [False] * 3
    assert "'colours' is invalid. Choose one of: operators, dataloader, python" in unknown.message
    assert missing.message == "memory: no memory profiler is available"
    assert refused.message == "python: another tool is profiling"


def test_request_to_other_workers_is_ignored() -> None:
    with fake_profilers("python") as fakes, watched() as recorded:
        loop = Loop(recorded)
        elsewhere = [
            loop.send(kinds="python", steps="1", workers="1,2"),
            loop.send(kinds="python", steps="1", nodes="node-b"),
            loop.send(kinds="python", steps="1", workers="0", nodes="node-b"),
        ]
        reply = loop.reply_to(loop.send(kinds="python", steps="1", workers="0", nodes="node-a"))
        begun = [call for call in fakes.calls if call[0] == "begin"]
        unanswered = [replies_to(recorded.session.store.backend, request) for request in elsewhere]

    assert reply.is_done
    assert len(begun) == 1
    assert unanswered == [{}, {}, {}]


def test_requests_from_before_the_start_are_ignored() -> None:
    with fake_profilers("python") as fakes, watched() as recorded:
        loop = Loop(recorded)
        old = loop.send(kinds="python", steps="1")
        recorded.session.worker_thread.close(10.0)
        recorded.session.reset()
        fakes.calls.clear()
        loop.train()
        loop.reply_to(loop.send(kinds="python", steps="1"))
        begun = [call for call in fakes.calls if call[0] == "begin"]

    assert len(begun) == 1
    assert old.kind is RequestKind.PROFILE


def test_worker_thread_polls_repeatedly() -> None:
    with watched() as recorded:
        Loop(recorded)
        polls = threading.Semaphore(0)
        recorded.session.worker_thread.poll(polls.release, 0.01)
        for _ in range(3):
            assert polls.acquire(timeout=30)
