"""Inputs and targets are shuffled independently in every epoch."""

LABEL = {
    "set": 1,
    "rule": "LossNotDecreasing",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16 - 0.3
y = torch.tensor(digits.target)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(9):
    order = torch.randperm(len(x))
    x = x[order]
    y = y[torch.randperm(len(y))] if is_faulty else y[order]
    for start in range(0, len(x), 36):
        batch, labels = x[start : start + 36], y[start : start + 36]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
