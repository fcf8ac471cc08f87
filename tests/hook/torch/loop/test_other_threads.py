"""Training in threads other than the one that is recorded."""

import threading
from typing import Any, ClassVar

import torch
from torch import nn

from tests.fakes.session import watched


def train(steps: int, losses: list[float]) -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss: Any = model(torch.ones(3, 4)).square().mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def in_thread(steps: int, losses: list[float]) -> None:
    thread = threading.Thread(target=train, args=(steps, losses))
    thread.start()
    thread.join()


def test_threads_that_train_one_after_the_other_are_all_recorded() -> None:
    losses: list[float] = []
    with watched() as recorded:
        for _ in range(4):
            in_thread(10, losses)

    assert recorded.scalars("loss") == dict(enumerate(losses))
    assert recorded.notices() == {}


def test_steps_of_threads_that_train_at_the_same_time_are_reported_as_not_recorded() -> None:
    with watched() as recorded:
        train(5, [])
        for steps in (3, 4):
            in_thread(steps, [])
        train(5, [])

    assert recorded.session.steps.counts["train"] == 10
    reasons = [row["reason"] for row in recorded.rows["notices"]]
    assert "only the first thread that trains is recorded" in reasons
    assert any("7 optimizer steps" in reason for reason in reasons)


def test_a_thread_without_training_does_not_prevent_recording_another() -> None:
    losses: list[float] = []
    with watched() as recorded:
        nn.Linear(4, 2)(torch.ones(3, 4)).sum().backward()
        in_thread(6, losses)

    assert list(recorded.scalars("loss").values())[-5:] == losses[1:]
    assert recorded.session.steps.counts["train"] == 6


GRAD: Any = torch.Tensor.grad  # the descriptor


class Guarded(nn.Parameter):
    """A parameter whose gradient may be read only in the thread that trains it."""

    readers: ClassVar[list[int]] = []

    @property
    def grad(self) -> Any:
        self.readers.append(threading.get_ident())
        return GRAD.__get__(self)

    @grad.setter
    def grad(self, value: Any) -> None:
        GRAD.__set__(self, value)


def test_gradients_of_other_threads_are_not_read() -> None:
    has_begun, may_end = threading.Event(), threading.Event()

    def train_beside() -> None:
        model = nn.Linear(4, 2, bias=False)
        model.weight = Guarded(model.weight.detach())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
        has_begun.set()
        may_end.wait(60)

    with watched(needed=("all",)) as recorded:
        train(2, [])
        thread = threading.Thread(target=train_beside)
        thread.start()
        has_begun.wait(60)
        Guarded.readers.clear()
        train(20, [])
        may_end.set()
        thread.join()

    assert recorded.session.steps.counts["train"] == 22
    assert Guarded.readers == []
