"""One worker waits fifteen seconds for a file that another program writes."""

LABEL = {
    "set": "calibration",
    "rule": "StalledTrainingRule",
    "side_effects": ["StepOutlier"],
    "parameters": {"StalledTrainingRule": {"threshold": 4.0}},
}

import sys
import time

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
directions = torch.randn(24, 5)
model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(900):
    if step == 500:
        time.sleep(15 if is_faulty else 0.3)
    points = torch.randn(64, 24)
    labels = (points @ directions + 0.5 * torch.randn(64, 5)).argmax(dim=1)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.002)
