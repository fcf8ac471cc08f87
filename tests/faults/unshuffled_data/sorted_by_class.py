"""Digits are sorted by class and not shuffled."""

LABEL = {
    "set": 1,
    "rule": "UnshuffledData",
    "side_effects": ["LossSpike", "LossNotDecreasing"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
order = digits.target.argsort(kind="stable")
x = torch.tensor(digits.data[order], dtype=torch.float32) / 16 - 0.3
y = torch.tensor(digits.target[order])
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=not is_faulty)

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
