"""Optimizer state reveals gradient norms at steps without an inspection."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import pytest
import torch
from torch.optim import Optimizer

from sonde.hook.torch.tensors.optimizer_memory import OptimizerMemory
from tests.fakes.session import watched

KINDS: list[Callable[..., Optimizer]] = [
    *(torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam),
    torch.optim.RMSprop,
]


def parameters(**options: Any) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(4, 3, **options)) for _ in range(2)]


def train(optimizer: Optimizer, norms: list[float]) -> None:
    """Step with gradients of these norms; the last gradients are set but not used yet."""
    for norm in norms:
        optimizer.step()
        set_gradients(optimizer, norm)


def set_gradients(optimizer: Optimizer, norm: float) -> None:
    owned = optimizer.param_groups[0]["params"]
    gradients = [torch.randn(4, 3) for _ in owned]
    length = sqrt(sum(float(values.square().sum()) for values in gradients))
    for parameter, gradient in zip(owned, gradients, strict=True):
        parameter.grad = (gradient * norm / length).to(parameter.dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_norm_since_the_last_sample_is_returned(
    kind: Callable[..., Optimizer],
) -> None:
    optimizer, memory = kind(parameters(), lr=1e-3), OptimizerMemory()
    set_gradients(optimizer, 5.0)
    train(optimizer, [7.0] * 3)
    assert memory.norm_since(optimizer) is None

    norms = [1.0, 2.0, 3.0, 4.0] * 5
    train(optimizer, norms)
    used = [7.0, *norms[:-1]]  # the last one is not used yet

    mean_norm = memory.norm_since(optimizer)
    group = optimizer.param_groups[0]
    decay = group["betas"][1] if "betas" in group else group["alpha"]
    weights = [decay ** (len(used) - 1 - index) for index in range(len(used))]
    squares = [norm**2 * weight for norm, weight in zip(used, weights, strict=True)]
    assert mean_norm == pytest.approx(sqrt(sum(squares) / sum(weights)), rel=1e-3)


def test_one_gradient_spike_is_returned_once() -> None:
    optimizer, memory = torch.optim.Adam(parameters(), lr=1e-3), OptimizerMemory()
    set_gradients(optimizer, 1.0)
    train(optimizer, [1.0] * 10)
    memory.norm_since(optimizer)
    train(optimizer, [1.0] * 30 + [1e4] + [1.0] * 30)
    mean_norm = memory.norm_since(optimizer)
    assert mean_norm is not None
    assert 1e3 < mean_norm < 1e4

    train(optimizer, [1.0] * 30)
    assert (memory.norm_since(optimizer) or 0.0) < 30


def test_samples_close_to_each_other_are_merged() -> None:
    optimizer, memory = torch.optim.Adam(parameters(), lr=1e-3), OptimizerMemory()
    set_gradients(optimizer, 1.0)
    norms = []
    for _ in range(21):
        train(optimizer, [1.0])
        norms.append(memory.norm_since(optimizer))
    assert [index for index, norm in enumerate(norms) if norm is not None] == [8, 16]


def test_optimizers_without_precise_averages_return_nothing() -> None:
    plain = torch.optim.SGD(parameters(), lr=0.1, momentum=0.9)
    coarse = torch.optim.Adam(parameters(dtype=torch.bfloat16), lr=1e-3)
    for optimizer in (plain, coarse):
        memory = OptimizerMemory()
        set_gradients(optimizer, 1.0)
        for _ in range(3):
            train(optimizer, [1.0] * 20)
            assert memory.norm_since(optimizer) is None


def test_parameters_without_gradients_for_a_while_are_not_compared() -> None:
    owned = parameters()
    optimizer, memory = torch.optim.Adam(owned, lr=1e-3), OptimizerMemory()
    set_gradients(optimizer, 1.0)
    train(optimizer, [1.0] * 20)
    memory.norm_since(optimizer)
    train(optimizer, [1.0] * 20)
    owned[0].grad = None
    assert memory.norm_since(optimizer) is None


def test_a_spike_between_two_inspections_is_recorded() -> None:
    with watched(overhead_percent=100.0) as recorded:
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(40):
            optimizer.zero_grad()
            (model(torch.randn(8, 4)).square().mean() * (1e4 if step == 27 else 1.0)).backward()
            optimizer.step()
    between = recorded.scalars("gradient_norm/between")
    largest = max(between, key=lambda step: between[step])
    assert 27 < largest <= 36
    assert between[largest] > 100 * sorted(between.values())[len(between) // 2]
