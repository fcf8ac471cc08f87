"""The loss of a step whose gradients are computed twice, as in SAM and similar loops."""

from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sonde.hook.torch.tensors.weight_changes import WeightChanges
from tests.fakes.session import watched

CLOSELY = pytest.mark.parametrize("closely", [True, False])


def loss_of(model: nn.Module) -> Any:
    return model(torch.ones(3, 4)).square().mean()


@torch.no_grad()
def move(parameters: Iterable[Tensor], sign: float = 1.0) -> list[Tensor]:
    """Move weights along their gradients; return the changes."""
    changes = []
    for parameter in parameters:
        assert parameter.grad is not None
        changes.append(sign * 0.1 * parameter.grad)
        parameter.add_(changes[-1])
    return changes


@torch.no_grad()
def move_back(parameters: Iterable[Tensor], changes: list[Tensor]) -> None:
    for parameter, change in zip(parameters, changes, strict=True):
        parameter.sub_(change)


class SharpnessAware(torch.optim.Optimizer):
    """An optimizer that wraps another one, as libraries implement SAM."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})
        self.base = torch.optim.SGD(self.param_groups, lr=0.1)
        self.param_groups = self.base.param_groups

    def first_step(self) -> None:
        self._changes = move(self.param_groups[0]["params"])
        self.zero_grad()

    def second_step(self) -> None:
        move_back(self.param_groups[0]["params"], self._changes)
        self.base.step()
        self.zero_grad()


@CLOSELY
@pytest.mark.parametrize("micro_steps", [1, 2])
def test_the_loss_of_a_sharpness_aware_step_is_that_of_its_first_pass(
    closely: bool, micro_steps: int
) -> None:
    losses = []
    with watched(closely=closely) as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(30):
            for _ in range(micro_steps):
                loss = loss_of(model) / micro_steps
                loss.backward()
            losses.append(loss.item() * micro_steps)
            changes = move(model.parameters())
            model.zero_grad()
            for _ in range(micro_steps):
                (loss_of(model) / micro_steps).backward()
            move_back(model.parameters(), changes)
            optimizer.step()
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == pytest.approx(losses)
    assert recorded.session.steps.counts["train"] == 30


@CLOSELY
def test_a_wrapping_optimizer_records_the_loss_of_its_first_pass(closely: bool) -> None:
    losses = []
    with watched(closely=closely) as recorded:
        model = nn.Linear(4, 2)
        optimizer = SharpnessAware(model.parameters())
        for _ in range(30):
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            optimizer.first_step()
            loss_of(model).backward()
            optimizer.second_step()

    assert list(recorded.scalars("loss").values()) == losses
    assert recorded.session.steps.counts["train"] == 30


@CLOSELY
def test_a_discarded_batch_has_no_loss_even_if_weights_are_clamped_after_each_step(
    closely: bool,
) -> None:
    losses = []
    with watched(closely=closely) as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(30):
            if step % 10 == 7:
                (10 * loss_of(model)).backward()
                optimizer.zero_grad()
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.clamp_(-0.5, 0.5)
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == losses


@CLOSELY
@pytest.mark.parametrize("inner_steps", [2, 3])
def test_several_updates_by_hand_before_a_step_leave_the_loss_of_the_last_pass(
    closely: bool, inner_steps: int
) -> None:
    losses = []
    with watched(closely=closely) as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(30):
            for _ in range(inner_steps):
                loss_of(model).backward()
                move(model.parameters(), sign=-1.0)
                model.zero_grad()
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == losses


def test_lazy_parameters_are_skipped() -> None:
    model, unused = nn.Linear(4, 2), nn.LazyLinear(2)
    changes = WeightChanges()
    changes.track(torch.optim.SGD([*model.parameters(), *unused.parameters()], lr=0.1))
    changes.backward_begins()
    with torch.no_grad():
        model.bias.add_(1.0)
    assert changes.gradients_cleared()
