"""A VAE of curves; the weight of the divergence, and thus the loss, rises in two cycles."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
POINTS, CODES, STEPS = 40, 6, 1200


def curves(number):
    time = torch.linspace(0, 1, POINTS)[None, :]
    speed, phase, slope = (
        1 + 2 * torch.rand(number, 1),
        torch.rand(number, 1),
        torch.randn(number, 1),
    )
    wave = torch.sin(2 * torch.pi * (speed * time + phase)) + slope * (time - 0.5)
    return (wave + 0.1 * torch.randn(number, POINTS)) / 0.8


encoder = nn.Sequential(nn.Linear(POINTS, 96), nn.SiLU(), nn.Linear(96, 2 * CODES))
decoder = nn.Sequential(nn.Linear(CODES, 96), nn.SiLU(), nn.Linear(96, POINTS))
both = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(both, lr=2e-3)
for step in range(STEPS):
    price = 0.03 * min(1.0, 2 * (step % (STEPS // 2)) / (STEPS // 2))
    curve = curves(64)
    mean, spread = encoder(curve).chunk(2, dim=1)
    code = mean + torch.randn_like(mean) * (spread / 2).exp()
    error = (decoder(code) - curve).square().mean()
    cost = (mean.square() + spread.exp() - spread - 1).sum(1).mean() / 2
    loss = error + price * cost
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"{step}: loss {loss.item():.3f}, error {error.item():.3f}, cost {cost.item():.2f}")
