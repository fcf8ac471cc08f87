"""Four times as many loader workers as the machine has cores."""

LABEL = {"set": 1, "rule": "Dataloader"}

import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

cores = len(os.sched_getaffinity(0))
points = torch.randn(4800, 10)
targets = points[:, 0] * points[:, 1]
loader = DataLoader(
    TensorDataset(points, targets),
    batch_size=32,
    shuffle=True,
    num_workers=4 * cores if is_faulty else cores,
    persistent_workers=True,
)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(3):
    for batch, target in loader:
        loss = nn.functional.mse_loss(model(batch).squeeze(1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
