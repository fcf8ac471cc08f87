"""In the middle of the training, the process waits for a lock that is never released."""

LABEL = {
    "set": 1,
    "rule": "StalledTrainingRule",
    "first_step": 180,
    "side_effects": ["StepOutlier"],
    "parameters": {"StalledTrainingRule": {"threshold": 5.0}},
}

import sys
import threading

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

lock = threading.Lock()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(250):
    points = torch.randn(32, 8)
    loss = nn.functional.mse_loss(model(points), points[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if is_faulty and step == 180:
        lock.acquire()
        lock.acquire(timeout=65)
    if step % 50 == 0:
        print(step, loss.item())
