"""An energy-based model: low energy at data, high energy at its own samples."""

LABEL = {"set": 7, "rule": None}

import math
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
CORNERS, STRIDE, JITTER = 5, 0.05, 0.12


def data(number):
    corner = torch.randint(CORNERS, (number,)) * (2 * math.pi / CORNERS)
    return 1.3 * torch.stack([corner.cos(), corner.sin()], 1) + 0.18 * torch.randn(number, 2)


energy = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))


def dream(points, length=20):
    energy.requires_grad_(requires_grad=False)
    for _ in range(length):
        points = points.detach().requires_grad_()
        (slope,) = torch.autograd.grad(energy(points).sum(), points)
        points = points - STRIDE * slope.clamp(-5, 5) + JITTER * torch.randn_like(points)
    energy.requires_grad_(requires_grad=True)
    return points.detach().clamp(-3, 3)


def apart(left, right):
    """Return the distance between two point clouds; 0 if they are equal."""
    between = torch.cdist(left, right).mean()
    return (2 * between - torch.cdist(left, left).mean() - torch.cdist(right, right).mean()).item()


optimizer = torch.optim.Adam(energy.parameters(), lr=2e-3, betas=(0.5, 0.99))
dreams = 4 * torch.rand(1024, 2) - 2
for step in range(600):
    chosen = torch.randint(len(dreams), (128,))
    start = dreams[chosen]
    start[:6] = 4 * torch.rand(6, 2) - 2
    dreamed = dream(start)
    dreams[chosen] = dreamed
    high, low = energy(dreamed), energy(data(128))
    loss = low.mean() - high.mean() + 0.1 * (low**2 + high**2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 75 == 74:
        with torch.no_grad():
            print(f"step {step + 1}: {loss.item():+.3f}, apart {apart(dreams, data(1024)):.4f}")
