"""The batch size doubles in place of learning rate decay, which comes only at the end."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

count, stages = 4096, ((16, 140), (32, 100), (64, 80), (128, 60))
kinds = torch.randint(0, 6, (count,))
times = torch.arange(48.0)
speed = 0.25 + 0.1 * kinds.unsqueeze(1) + 0.02 * torch.randn(count, 1)
signals = torch.sin(speed * times + 6.3 * torch.rand(count, 1)) + 0.7 * torch.randn(count, 48)
signals = signals.unsqueeze(1)

model = nn.Sequential(
    *(nn.Conv1d(1, 16, 7, padding=3), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU()),
    *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 6)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
total = sum(steps for _, steps in stages)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min(1.0, (step + 1) / 20, (total - step) / 80)
)
for size, steps in stages:
    for _ in range(steps):
        rows = torch.randint(0, count, (size,))
        loss = nn.functional.cross_entropy(model(signals[rows]), kinds[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print(f"batches of {size}: {loss.item():.3f}, rate {schedule.get_last_lr()[0]:.4f}")
