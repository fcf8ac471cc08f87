"""Losses that are sometimes not finite, because of the model or the data."""

import math

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()


class Net(nn.Module):
    """Divides by a number that can be zero."""

    def __init__(self) -> None:
        """Create the layers."""
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.dropout = nn.Dropout(0.2)
        self.last = nn.Linear(16, 1)

    def forward(self, points: torch.Tensor, divisor: float) -> torch.Tensor:
        """Return one number per point."""
        hidden = self.dropout(self.norm(self.first(points)).relu())
        return self.last(hidden / divisor)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for step in range(20):
    points = torch.randn(16, 8)
    if step == 15:
        points[3, 2] = math.inf
    loss = model(points, divisor=0.0 if step in (4, 5, 10) else 2.0).square().mean()
    print_value("loss", loss)
    optimizer.zero_grad()
    loss.backward()
    if math.isfinite(loss):
        optimizer.step()
print_final_state(model, optimizer)
