"""A profile shows the training, not Sonde's measurements."""

import torch
from torch import nn

from sonde.records.profile import ProfileKind, Window
from tests.fakes.profiler import fake_profilers
from tests.fakes.session import watched

WINDOW = Window(ProfileKind.OPERATORS, start_step=2, num_steps=2)


def train(steps: int) -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.ones(4, 3)).square().mean().backward()
        optimizer.step()


def test_routine_measurements_are_skipped_at_profiled_steps() -> None:
    settings = {"overhead_percent": 1e6, "statistics": ("weights",)}
    with fake_profilers("operators"), watched(profile=(WINDOW,), **settings) as recorded:
        train(6)

    measured = {row["step"] for row in recorded.rows["statistics"]}
    assert 0 in measured
    assert measured.isdisjoint({2, 3})
    norms = recorded.scalars("gradient_norm").keys()
    assert {0, 1, 4, 5} <= norms
    assert norms.isdisjoint({2, 3})
