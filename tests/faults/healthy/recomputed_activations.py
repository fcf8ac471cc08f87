"""Activation checkpointing: every block runs forward again during backward."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(int(sys.argv[2]))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.wide, self.back = nn.Linear(32, 96), nn.Linear(96, 32)
        self.relu, self.dropout = nn.ReLU(), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.back(self.dropout(self.relu(self.wide(self.norm(x)))))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(10, 32)
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        x = self.inside(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.out(x)


model = Deep()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(300):
    points = torch.randn(64, 10)
    labels = (points[:, 0] > 0).long() + 2 * (points[:, 1] * points[:, 2] > 0).long()
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
