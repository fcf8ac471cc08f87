"""Every 16th step has a gradient penalty, which backpropagates through a backward pass."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

truth = torch.randn(24, 24) / 5
model = nn.Sequential(
    nn.Linear(24, 192), nn.Softplus(), nn.Linear(192, 192), nn.Softplus(), nn.Linear(192, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.99))
total = 0.0
for step in range(960):
    points = torch.randn(96, 24)
    targets = torch.tanh(points @ truth).sum(1) + 0.1 * torch.randn(96)
    loss = nn.functional.mse_loss(model(points).squeeze(1), targets)
    if step % 16 == 0:
        probes = torch.randn(512, 24, requires_grad=True)
        (slopes,) = torch.autograd.grad(model(probes).sum(), probes, create_graph=True)
        loss = loss + 16 * 2e-3 * slopes.square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 96 == 95:
        print(step, total / 96)
        total = 0.0
