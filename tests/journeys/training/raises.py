"""Raises an exception in the middle of a step, deep inside the model."""

import torch
from reporting import print_value, seed_all
from torch import nn


class Fragile(nn.Module):
    """Raises an exception at the tenth call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls == 10:
            raise ValueError("the tenth call")
        return points * 2


seed_all()
model = nn.Sequential(nn.Linear(4, 4), Fragile(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
