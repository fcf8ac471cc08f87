"""Adversarial training: a backward pass for the inputs, then one for the weights."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
loader = DataLoader(TensorDataset(x, torch.tensor(digits.target)), 48, shuffle=True)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for batch, labels in loader:
        probe = batch.clone().requires_grad_()
        nn.functional.cross_entropy(model(probe), labels).backward()
        attacked = (batch + 0.05 * probe.grad.sign()).clamp(0, 1)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(attacked), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
