"""Losses that are not finite now and then, inside of the model and because of the data."""

import math

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()


class Net(nn.Module):
    """Divides by what may be zero."""

    def __init__(self) -> None:
        """All layers."""
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.dropout = nn.Dropout(0.2)
        self.last = nn.Linear(16, 1)

    def forward(self, points: torch.Tensor, divisor: float) -> torch.Tensor:
        """A number for each point."""
        hidden = self.dropout(self.norm(self.first(points)).relu())
        return self.last(hidden / divisor)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(20):
    points = torch.randn(16, 8)
    if step == 15:
        points[3, 2] = math.inf
    loss = model(points, divisor=0.0 if step in (4, 5, 10) else 2.0).square().mean()
    tell("loss", loss)
    optimizer.zero_grad()
    loss.backward()
    if math.isfinite(loss):
        optimizer.step()
tell_end(model, optimizer)
