"""A cosine schedule with warm restarts: the learning rate repeatedly approaches 0."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

points = torch.randn(3000, 12)
targets = torch.sin(points[:, :1] * 2) + points[:, 1:2] * points[:, 2:3]
model = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=60, T_mult=2)
for step in range(420):
    chosen = torch.randint(0, 3000, (64,))
    loss = nn.functional.mse_loss(model(points[chosen]), targets[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 60 == 0:
        print(step, loss.item(), scheduler.get_last_lr()[0])
