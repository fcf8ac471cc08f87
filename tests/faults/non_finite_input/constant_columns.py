"""Digits are standardized per pixel; constant pixels give 0 / 0."""

LABEL = {
    "set": 1,
    "rule": "NonFiniteInput",
    "max_delay_steps": 2,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

data, target = load_digits(return_X_y=True)
x = torch.tensor(data, dtype=torch.float32)
y = torch.tensor(target)
deviation = x.std(0) if is_faulty else x.std(0).clamp(min=1.0)
x = (x - x.mean(0)) / deviation

model = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    for chosen in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[chosen]), y[chosen])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
