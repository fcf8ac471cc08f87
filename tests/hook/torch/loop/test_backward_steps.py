"""Loops that update their weights without a torch optimizer."""

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.fakes.session import Recorded, watched

NO_OPTIMIZER = "counted by backward passes: no torch optimizer has stepped"


def through_data(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.data.add_(parameter.grad, alpha=-0.1)


def in_place(parameter: Tensor) -> None:
    with torch.no_grad():
        parameter -= 0.1 * parameter.grad  # type: ignore[operator]


def clear_by_none(parameter: Tensor) -> None:
    parameter.grad = None


def clear_in_place(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad.zero_()


def clear_through_data(parameter: Tensor) -> None:
    assert parameter.grad is not None
    parameter.grad.data.zero_()


def loss_of(model: nn.Module) -> Any:
    return model(torch.randn(3, 4)).square().mean()


def copied(gradient: Tensor | None) -> Tensor:
    assert gradient is not None
    return gradient.clone()


def details(recorded: Recorded) -> set[str]:
    return {row["detail"] for row in recorded.rows["events"] if row["category"] == "step"}


@pytest.mark.parametrize("update", [through_data, in_place])
@pytest.mark.parametrize("clear", [clear_by_none, clear_in_place, clear_through_data])
def test_each_backward_pass_followed_by_an_update_is_a_step(
    update: Callable[[Tensor], None], clear: Callable[[Tensor], None]
) -> None:
    losses = []
    with watched("gradients:every=1,values", "weights:every=1,values") as recorded:
        model = nn.Linear(4, 2)
        weights, gradients = [], []
        for _ in range(10):
            loss = loss_of(model)
            loss.backward()
            losses.append(loss.item())
            weights.append(model.weight.detach().clone())
            gradients.append(copied(model.weight.grad))
            for parameter in model.parameters():
                update(parameter)
                clear(parameter)

    assert recorded.scalars("loss") == dict(enumerate(losses))
    assert details(recorded) == {'{"counted_by":"backward"}'}
    assert recorded.notices()["training steps"] == NO_OPTIMIZER
    assert "backward" in recorded.phases(step=4)
    for step in range(2, 10):
        matches = recorded.values["train", step]
        assert matches["weight"].tobytes() == weights[step].numpy().tobytes()
        assert matches["gradient/weight"].tobytes() == gradients[step].numpy().tobytes()


def test_gradient_norms_are_recorded_without_an_optimizer() -> None:
    norms = []
    with watched(overhead_percent=100.0) as recorded:
        model = nn.Linear(4, 2)
        for _ in range(8):
            model.zero_grad()
            loss_of(model).backward()
            gradients = [tensor.grad for tensor in model.parameters() if tensor.grad is not None]
            norms.append(torch.stack([tensor.norm() for tensor in gradients]).norm())
            for parameter in model.parameters():
                through_data(parameter)

    values = recorded.scalars("gradient_norm")
    assert len(values) >= 6
    for step, norm in values.items():
        assert norm == pytest.approx(norms[step].item(), rel=1e-5)


def test_tensors_outside_modules_are_named_after_their_variables() -> None:
    losses = []
    with watched("all:every=1,values") as recorded:
        slope = torch.zeros(1, requires_grad=True)
        tensors = {"offset": torch.zeros(1, requires_grad=True)}
        for _ in range(6):
            points = torch.randn(16)
            loss: Any = (slope * points + tensors["offset"] - 3 * points).square().mean()
            loss.backward()
            losses.append(loss.item())
            for parameter in (slope, tensors["offset"]):
                in_place(parameter)
                clear_in_place(parameter)

    assert recorded.scalars("loss") == dict(enumerate(losses))
    assert {"slope", "tensors.offset", "gradient/slope"} <= recorded.values["train", 4].keys()


def test_passes_without_an_update_in_between_are_micro_steps() -> None:
    means = []
    with watched() as recorded:
        model = nn.Linear(4, 2)
        for _ in range(5):
            losses = [loss_of(model) for _ in range(3)]
            for loss in losses:
                (loss / 3).backward()
            for parameter in model.parameters():
                through_data(parameter)
            model.zero_grad()
            means.append(sum([loss.item() for loss in losses]) / 3)

    assert list(recorded.scalars("loss").values()) == pytest.approx(means)
    assert details(recorded) == {'{"micro_steps":3,"counted_by":"backward"}'}


def test_optimizer_steps_replace_backward_passes_as_the_step_count() -> None:
    losses = []
    with watched() as recorded:
        model = nn.Linear(4, 2)
        for _ in range(5):
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            for parameter in model.parameters():
                in_place(parameter)
            model.zero_grad()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    assert recorded.scalars("loss") == dict(enumerate(losses))
    assert details(recorded) == {'{"counted_by":"backward"}', ""}


def test_an_optimizer_that_has_not_stepped_yet_delays_counting_by_backward() -> None:
    with watched() as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(8):
            loss_of(model).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    assert recorded.session.steps.counts["train"] == 1
    assert details(recorded) == {'{"micro_steps":8}'}


def test_an_optimizer_that_never_steps_delays_counting_only_for_a_while() -> None:
    with watched() as recorded:
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(70):
            optimizer.zero_grad()
            loss_of(model).backward()
            for parameter in model.parameters():
                in_place(parameter)

    assert 15 <= recorded.session.steps.counts["train"] <= 25
    assert recorded.notices()["training steps"] == NO_OPTIMIZER


def test_gradients_without_updates_are_not_counted_as_steps() -> None:
    """For example, to explain a prediction by gradients of its input."""
    with watched() as recorded:
        model = nn.Linear(4, 2)
        for _ in range(60):
            model.zero_grad()
            loss_of(model).backward()

    assert recorded.session.steps.counts["train"] == 0
    assert "sonde.step()" in recorded.notices()["training steps"]


def test_the_weights_of_a_loop_without_an_optimizer_are_not_kept_alive() -> None:
    with watched("weights:every=1"):
        model = nn.Linear(4, 2)
        for _ in range(5):
            model.zero_grad()
            loss_of(model).backward()
            for parameter in model.parameters():
                in_place(parameter)
        weight = weakref.ref(model.weight)
        del model, parameter
        assert weight() is None
