"""Gradients that exist when a backward pass begins: stale, cleared, accumulated, alternating."""

import json
from typing import Any

import pytest
import torch
from torch import nn

from tests.fakes.session import Recorded, watched

NEEDED = ("kept-gradients",)


def stale_counts(recorded: Recorded, optimizer: str = "0") -> list[float]:
    rows = recorded.observations("kept-gradients")
    return [row["value"] for row in rows if row["subject"] == optimizer]


@pytest.mark.parametrize("is_zeroed", [True, False])
def test_gradients_that_are_not_cleared_are_recorded(is_zeroed: bool) -> None:
    with watched(needed=NEEDED) as recorded:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            if is_zeroed:
                optimizer.zero_grad()
            model(torch.ones(4, 3)).sum().backward()
            optimizer.step()

    assert stale_counts(recorded) == ([0, 0, 0] if is_zeroed else [0, 2, 2])
    details = [json.loads(row["detail"]) for row in recorded.observations("kept-gradients")]
    assert details[-1] == {"of": 2, "first": "" if is_zeroed else "weight"}
    assert [row["step"] for row in recorded.observations("kept-gradients")] == [0, 1, 2]


def test_gradients_that_are_zeroed_in_place_are_cleared() -> None:
    with watched(needed=NEEDED) as recorded:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            model(torch.ones(4, 3)).sum().backward()
            optimizer.step()

    assert stale_counts(recorded) == [0, 0]


@pytest.mark.parametrize("is_copied", [True, False])
def test_gradients_copied_from_another_model_need_not_be_cleared(is_copied: bool) -> None:
    with watched(needed=NEEDED) as recorded:
        model = nn.Linear(3, 2)
        exact = [parameter.detach().double().requires_grad_() for parameter in model.parameters()]
        optimizer = torch.optim.SGD(exact, lr=0.1)
        for _ in range(3):
            model.zero_grad()
            model(torch.ones(4, 3)).sum().backward()
            for copy, original in zip(exact, model.parameters(), strict=True):
                assert original.grad is not None
                if is_copied and copy.grad is not None:
                    copy.grad.copy_(original.grad)
                else:
                    copy.grad = original.grad.double()
            optimizer.step()

    assert stale_counts(recorded) == [0, 0, 0]


def test_a_backward_pass_of_another_model_does_not_count_as_clearing() -> None:
    with watched(needed=NEEDED) as recorded:
        model, second = nn.Linear(3, 2), nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            second(torch.ones(4, 3)).sum().backward()
            model(torch.ones(4, 3)).sum().backward()
            optimizer.step()

    assert stale_counts(recorded)[1:] == [2, 2]


@pytest.mark.filterwarnings("ignore:Using backward")
def test_second_derivatives_also_add_to_stale_gradients() -> None:
    with watched(needed=NEEDED) as recorded:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.ones(4, 3)).square().sum().backward(create_graph=True)
            optimizer.step()

    assert stale_counts(recorded) == [0, 2, 2]


def test_gradient_accumulation_is_not_recorded_as_stale() -> None:
    with watched(needed=NEEDED) as recorded:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            for _ in range(6):
                (model(torch.ones(4, 3)).sum() / 6).backward()
            optimizer.step()
            optimizer.zero_grad()

    assert stale_counts(recorded) == [0, 0]


@pytest.mark.parametrize("is_zeroed", [True, False])
def test_alternating_optimizers_may_see_gradients_of_each_other(is_zeroed: bool) -> None:
    with watched(needed=NEEDED) as recorded:
        maker, judge = nn.Linear(3, 3), nn.Linear(3, 1)
        optimizers = [torch.optim.SGD(network.parameters(), lr=0.01) for network in (maker, judge)]
        for _ in range(4):
            for optimizer in reversed(optimizers):
                if is_zeroed:
                    optimizer.zero_grad()
                loss: Any = judge(maker(torch.ones(2, 3))).sum()
                loss.backward()
                optimizer.step()

    for number in ("0", "1"):
        assert (max(stale_counts(recorded, number)) > 0) is not is_zeroed


@pytest.mark.parametrize("is_zeroed", [True, False])
def test_only_passes_of_its_own_loss_count_for_an_optimizer(
    is_zeroed: bool,
) -> None:
    with watched(needed=NEEDED) as recorded:
        actor, critic = nn.Linear(3, 3), nn.Linear(3, 1)
        slow = torch.optim.SGD(actor.parameters(), lr=0.01)
        fast = torch.optim.SGD(critic.parameters(), lr=0.01)
        for _ in range(4):
            if is_zeroed:
                fast.zero_grad()
            critic(torch.ones(2, 3)).sum().backward()
            fast.step()
            for _ in range(6):
                slow.zero_grad()
                critic(actor(torch.ones(2, 3))).sum().backward()
                slow.step()

    assert (max(stale_counts(recorded, "1")) > 0) is not is_zeroed


def test_an_optimizer_may_accumulate_while_another_one_steps() -> None:
    with watched(needed=NEEDED) as recorded:
        frequent, rare = nn.Linear(3, 3), nn.Linear(3, 1)
        first = torch.optim.SGD(frequent.parameters(), lr=0.01)
        second = torch.optim.SGD(rare.parameters(), lr=0.01)
        for step in range(12):
            rare(frequent(torch.ones(2, 3))).sum().backward()
            first.step()
            first.zero_grad()
            if step % 4 == 3:
                second.step()
                second.zero_grad()

    assert set(stale_counts(recorded, "0")) == {0}
    assert set(stale_counts(recorded, "1")) == {0}


def test_gradients_are_not_sampled_if_no_rule_needs_them() -> None:
    with watched() as recorded:
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(4, 3)).sum().backward()
        optimizer.step()

    assert stale_counts(recorded) == []
