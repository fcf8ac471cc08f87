"""Activation checkpointing, whose recomputation must repeat the same dropout."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    """A residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 8))
        self.calls = 0

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return points + self.layers(points)


seed_all()
first, second = Block(), Block()
last = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
model = nn.ModuleList([first, second, last])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(12):
    points = torch.randn(16, 8)
    hidden = checkpoint(first, points, use_reentrant=False)
    hidden = checkpoint(second, hidden, use_reentrant=True)
    outputs = checkpoint_sequential(last, 2, hidden, use_reentrant=False)
    loss = nn.functional.mse_loss(outputs, points.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
print("calls", first.calls, second.calls)
print_final_state(model, optimizer)
