"""Sharpness-aware minimization: a step uphill, a second backward pass, then the real step."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
x = (x - x.mean()) / x.std()
loader = DataLoader(TensorDataset(x, torch.tensor(digits.target)), 40, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def climb(radius):
    gradients = [gradient.grad for gradient in model.parameters()]
    length = torch.stack([gradient.norm() for gradient in gradients]).norm() + 1e-12
    steps = [radius * gradient / length for gradient in gradients]
    with torch.no_grad():
        for parameter, step in zip(model.parameters(), steps, strict=True):
            parameter.add_(step)
    return steps


for epoch in range(6):
    for batch, labels in loader:
        loss = nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        steps = climb(0.05)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), labels).backward()
        with torch.no_grad():
            for parameter, step in zip(model.parameters(), steps, strict=True):
                parameter.sub_(step)
        optimizer.step()
    print(epoch, loss.item())
