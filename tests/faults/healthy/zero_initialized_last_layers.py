"""Residual blocks whose last layers start at zero, and so does the head."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(32, 64), nn.Linear(64, 32)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, x):
        return x + self.outer(torch.relu(self.inner(x)))


head = nn.Linear(32, 2)
nn.init.zeros_(head.weight)
nn.init.zeros_(head.bias)
model = nn.Sequential(nn.Linear(10, 32), Block(), Block(), head)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
points = torch.randn(4000, 10)
labels = (points[:, 0] * points[:, 1] > 0).long()
for step in range(350):
    chosen = torch.randint(0, 4000, (48,))
    loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
