"""A normalizing flow of two moons, with coupling layers that start as the identity."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Coupling(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.register_buffer("mask", torch.tensor([1.0, 0.0] if first else [0.0, 1.0]))
        self.layers = nn.Sequential(
            *(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh()), nn.Linear(48, 4)
        )
        nn.init.zeros_(self.layers[-1].weight)
        nn.init.zeros_(self.layers[-1].bias)

    def forward(self, points):
        scale, shift = self.layers(points * self.mask).chunk(2, 1)
        scale = torch.tanh(scale) * (1 - self.mask)
        return points * scale.exp() + shift * (1 - self.mask), scale.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(number % 2 == 0) for number in range(4))

    def log_density(self, points):
        total = torch.zeros(len(points))
        for coupling in self.couplings:
            points, stretched = coupling(points)
            total = total + stretched
        return total - 0.5 * points.pow(2).sum(1) - 1.8379

    def forward(self, points):
        return self.log_density(points)


def moons(count):
    angle = torch.pi * torch.rand(count)
    side = torch.randint(0, 2, (count,)).float()
    across = torch.cos(angle) * (1 - 2 * side) + side - 0.5
    up = torch.sin(angle) * (1 - 2 * side) + 0.5 * side - 0.25
    return 1.5 * torch.stack([across, up], 1) + 0.06 * torch.randn(count, 2)


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=1.5e-3)
for step in range(500):
    loss = -flow(moons(96)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
    optimizer.step()
    if step % 50 == 49:
        print(f"{step + 1}: {loss.item():.3f}")
