"""A moving average of the model is validated every thirty steps."""

LABEL = {"set": 1, "rule": None}

import copy
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

model = nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.GELU())
model.append(nn.Linear(64, 1))
follower = copy.deepcopy(model).eval()
for parameter in follower.parameters():
    parameter.requires_grad = False
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def draw(count):
    points = torch.randn(count, 6)
    return points, torch.sin(points[:, 0]) * points[:, 1] + 0.3 * torch.randn(count)


held_back = [draw(100) for _ in range(4)]
for step in range(420):
    points, targets = draw(64)
    loss = nn.functional.mse_loss(model(points).squeeze(1), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(follower.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.03)
    if step % 30 == 29:
        with torch.no_grad():
            losses = [nn.functional.mse_loss(follower(x).squeeze(1), y) for x, y in held_back]
        print(step, loss.item(), torch.stack(losses).mean().item())
