"""All data is prepared slowly before the first step."""

LABEL = {
    "set": 1,
    "rule": "MaxInitializationTime",
    "parameters": {"MaxInitializationTime": {"threshold": 0.15}},
}

import sys
import time

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

if is_faulty:
    time.sleep(6)  # like a download
points = torch.randn(2000, 8)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(120):
    batch = points[torch.randint(0, 2000, (32,))]
    loss = nn.functional.mse_loss(model(batch), batch[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
