"""Every 20 steps, the training loop writes the weights as text to slow storage."""

LABEL = {"set": 1, "rule": "StepOutlier"}

import sys
import time

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def upload(model):
    """Simulate an upload of a few megabytes."""
    time.sleep(0.45)
    return sum(parameter.numel() for parameter in model.parameters())


model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    points = torch.randn(64, 16)
    loss = nn.functional.mse_loss(model(points), points[:, :1] + points[:, 1:2] ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if is_faulty and step % 20 == 19:
        upload(model)
if not is_faulty:
    upload(model)
