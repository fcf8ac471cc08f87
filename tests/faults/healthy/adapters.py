"""Low-rank adapters on frozen layers; half of their weights start at zero on purpose."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Adapted(nn.Module):
    def __init__(self, layer, rank=4):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * 0.1)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + x @ self.down.T @ self.up.T


base = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3))
model = nn.Sequential(Adapted(base[0]), nn.ReLU(), Adapted(base[2]), nn.ReLU(), nn.Linear(48, 3))
points = torch.randn(3000, 16)
labels = (points @ torch.randn(16, 3)).argmax(1)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
for step in range(300):
    chosen = torch.randint(0, 3000, (32,))
    loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
