"""A healthy 25-second training; later, other programs use its CPU cores."""

LABEL = {
    "set": "calibration",
    "rule": "CPUContention",
    "side_effects": ["CPUBottleneck"],
    "competing_processes": 3,
}

import sys
import time

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
directions = torch.randn(64, 5)
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
model.append(nn.Linear(512, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
start = time.monotonic()
for step in range(100_000):
    if time.monotonic() - start > 25:
        break
    points = torch.randn(256, 64)
    labels = (points @ directions + 0.5 * torch.randn(256, 5)).argmax(dim=1)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
