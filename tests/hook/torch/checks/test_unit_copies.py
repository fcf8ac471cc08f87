"""Identical units, counted in weights of all shapes."""

import json
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.fakes.session import Recorded, watched


def copies(recorded: Recorded, step: int = 0) -> dict[str, tuple[float, int]]:
    return {
        row["subject"]: (row["value"], json.loads(row["detail"])["units"])
        for row in recorded.observations("unit-copies")
        if row["step"] == step
    }


def train(make: Callable[[], nn.Module], batch: torch.Tensor, steps: int = 1) -> Recorded:
    with watched(needed=("unit-*",)) as recorded:
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(steps):
            model(batch).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return recorded


def test_a_constant_weight_has_one_distinct_row() -> None:
    def make() -> nn.Module:
        first = nn.Linear(5, 8)
        nn.init.constant_(first.weight, 0.5)
        return nn.Sequential(first, nn.ReLU(), nn.Linear(8, 4))

    assert copies(train(make, torch.ones(2, 5))) == {"0.weight": (1, 8), "2.weight": (4, 4)}


def test_convolution_channels_are_units_and_large_layers_are_sampled() -> None:
    def make() -> nn.Module:
        convolution: Any = nn.Conv2d(1, 6, 3)
        convolution.to(memory_format=torch.channels_last)
        with torch.no_grad():
            convolution.weight[3:] = convolution.weight[:3]
        return nn.Sequential(convolution, nn.Flatten(), nn.Linear(6, 300))

    assert copies(train(make, torch.ones(2, 1, 3, 3))) == {
        "0.weight": (3, 6),
        "2.weight": (100, 100),
    }


def test_low_precision_weights_are_counted_but_not_rows_with_one_element() -> None:
    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(1, 4), nn.Linear(4, 4)).to(torch.bfloat16)

    assert set(copies(train(make, torch.ones(2, 1, dtype=torch.bfloat16)))) == {"1.weight"}


def test_unit_copies_are_recorded_at_scheduled_steps() -> None:
    recorded = train(lambda: nn.Linear(2, 4), torch.ones(1, 2), steps=10)

    steps = [row["step"] for row in recorded.observations("unit-copies")]
    assert steps == [0, 1, 2, 3, 5, 8]
