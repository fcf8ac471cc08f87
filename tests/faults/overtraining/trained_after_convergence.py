"""A converged model is trained for fifty more epochs; its healthy twin stops in time."""

LABEL = {
    "set": 1,
    "rule": "Overtraining",
    "side_effects": ["LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.randn(700, 6)
targets = points[:, :1] * 2 - points[:, 1:2] + 0.2 * torch.randn(700, 1)
train = DataLoader(TensorDataset(points[:500], targets[:500]), 50, shuffle=True)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
best, waited = float("inf"), 0

for epoch in range(60):
    model.train()
    for batch, target in train:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), target)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        validation = nn.functional.mse_loss(model(points[500:]), targets[500:]).item()
    waited = 0 if validation < best - 1e-3 else waited + 1
    best = min(best, validation)
    print(epoch, loss.item(), validation)
    if waited >= 4 and not is_faulty:
        break
