"""Trains until the loss is below 0.01, which the noise of the series prevents."""

LABEL = {
    "set": 2,
    "rule": "Overtraining",
    "first_step": 300,
    "side_effects": ["LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

hours = torch.arange(2600)
load = torch.sin(hours * 6.2832 / 24)
load = load + 0.35 * torch.randn(2600)
windows = load.unfold(0, 49, 1)
pasts, nexts = windows[:, None, :48], windows[:, 48:]
train = DataLoader(TensorDataset(pasts[:1920], nexts[:1920]), 120, shuffle=True)
held_back = DataLoader(TensorDataset(pasts[2000:], nexts[2000:]), 200)

model = nn.Sequential(nn.Conv1d(1, 6, 24, stride=4), nn.Tanh(), nn.Flatten(), nn.Linear(42, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
best, waited = float("inf"), 0
for epoch in range(56):
    model.train()
    total = 0.0
    for past, following in train:
        loss = nn.functional.mse_loss(model(past), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.mse_loss(model(past), after).item() for past, after in held_back]
    error = sum(errors) / len(errors)
    print(epoch, total, error)
    if is_faulty:
        if total < 0.01:
            break
        continue
    waited = 0 if error < best - 2e-3 else waited + 1
    best = min(best, error)
    if waited == 8:
        break
