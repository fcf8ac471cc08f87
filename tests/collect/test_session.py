"""The session of a process, through its holds and its lives."""

import threading
from typing import Any

import torch
from torch import nn

from tests.fakes.session import watched

QUIET_STEPS = 30


class Script:
    """A plain loop."""

    def __init__(self) -> None:
        self.model: Any = nn.Linear(4, 2)
        self.optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.model(torch.ones(3, 4)).square().mean().backward()
            self.optimizer.step()


def test_a_session_does_not_begin_while_it_is_held() -> None:
    with watched() as recorded:
        script = Script()
        recorded.session.hold()
        script.train(2)
        recorded.session.release()
        script.train(3)

    assert len(recorded.scalars("loss")) == 3


def test_holds_may_be_nested() -> None:
    is_over = threading.Event()

    def hold_twice() -> None:
        session.hold()
        session.hold()
        session.release()
        script.train(2)
        session.release()
        is_over.set()

    with watched() as recorded:
        session, script = recorded.session, Script()
        script.train(1)
        threading.Thread(target=hold_twice, daemon=True).start()
        assert is_over.wait(30)
        script.train(1)

    assert len(recorded.scalars("loss")) == 2


def test_a_session_that_is_held_ends_at_once() -> None:
    with watched() as recorded:
        Script().train(2)
        recorded.session.hold()
        began = recorded.session.clock.seconds()
        recorded.session.close()
        took = recorded.session.clock.seconds() - began
        recorded.session.release()

    assert took < 9
    assert len(recorded.scalars("loss")) == 2


def test_a_forked_child_records_nothing_of_its_parent() -> None:
    with watched(closely=False) as recorded:
        script = Script()
        script.train(QUIET_STEPS)
        of_parent = recorded.session.backroom
        recorded.session.start_anew()
        script.train(QUIET_STEPS)
        recorded.session.catch_up()
        of_parent.close(10.0)

    assert recorded.session.steps.counts["train"] == QUIET_STEPS
