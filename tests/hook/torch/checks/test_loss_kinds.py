"""The first loss of each kind is reported, even in deferred steps."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from tests.fakes.session import Recorded, watched

Loss = Callable[[Tensor, int], Tensor]

STEPS = 40


@pytest.fixture(autouse=True)
def without_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defer as many steps as possible, even on a slow machine."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)


def train(
    loss: Loss, *, closely: bool = False, needed: tuple[str, ...] = ("loss-kind",)
) -> Recorded:
    with watched(closely=closely, needed=needed) as recorded:
        torch.manual_seed(1)
        model = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(STEPS):
            optimizer.zero_grad()
            root: Any = loss(model(torch.ones(4, 3)), step)
            root.backward()
            optimizer.step()
    return recorded


def kinds(recorded: Recorded) -> list[tuple[int, str]]:
    return [(row["step"], row["subject"]) for row in recorded.observations("loss-kind")]


def mse_then_cross_entropy(output: Tensor, step: int) -> Tensor:
    if step < 33:
        return functional.mse_loss(output, torch.zeros_like(output))
    return functional.cross_entropy(output, torch.zeros(4, dtype=torch.int64))


@pytest.mark.parametrize("closely", [True, False])
def test_a_new_loss_function_is_reported_at_its_first_step(closely: bool) -> None:
    recorded = train(mse_then_cross_entropy, closely=closely)
    assert kinds(recorded) == [(0, "MseLossBackward0"), (33, "NllLossBackward0")]


def test_scaling_a_loss_is_not_a_new_loss_function() -> None:
    assert kinds(train(lambda output, step: output.mean() / (1 + step % 3))) == [
        (0, "MeanBackward0")
    ]


def test_alternating_losses_are_reported_once() -> None:
    def alternating(output: Tensor, step: int) -> Tensor:
        return output.mean() if step % 4 else output.mean() + output.square().sum()

    assert kinds(train(alternating)) == [(0, "AddBackward0"), (1, "MeanBackward0")]


def test_losses_of_all_steps_are_recorded_with_changing_loss_functions() -> None:
    deferred, inspected = train(mse_then_cross_entropy), train(mse_then_cross_entropy, closely=True)
    losses = [
        [row["value"] for row in recorded.rows["scalars"] if row["name"] == "loss"]
        for recorded in (deferred, inspected)
    ]
    assert len(losses[0]) == STEPS
    assert losses[0] == losses[1]


def test_loss_kinds_are_not_recorded_unless_a_rule_needs_them() -> None:
    assert kinds(train(mse_then_cross_entropy, needed=())) == []
