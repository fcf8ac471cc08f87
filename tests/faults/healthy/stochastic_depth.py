"""Stochastic depth: residual blocks are skipped at random and then have no gradient."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Block(nn.Module):
    def __init__(self, width, survival):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
        self.survival = survival

    def forward(self, x):
        if self.training and torch.rand(1).item() > self.survival:
            return x
        return x + self.layers(x)


model = nn.Sequential(
    nn.Linear(12, 32), *(Block(32, 1 - 0.15 * depth) for depth in range(4)), nn.Linear(32, 3)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
points = torch.randn(3000, 12)
labels = torch.stack(
    [points[:, :4].norm(dim=1), points[:, 4:8].norm(dim=1), points[:, 8:].norm(dim=1)], 1
).argmax(1)
model.train()
for step in range(350):
    chosen = torch.randint(0, 3000, (48,))
    loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
