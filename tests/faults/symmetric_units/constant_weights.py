"""An MLP whose weights all start at the same value."""

LABEL = {
    "set": 1,
    "rule": "SymmetricUnits",
    "culprit": "0.weight",
    "first_step": 1,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def initialize(module):
    if isinstance(module, nn.Linear):
        if is_faulty:
            nn.init.constant_(module.weight, 0.05)
        else:
            nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)


digits = load_digits()
points = torch.tensor(digits.data, dtype=torch.float32) / 16
points = (points - points.mean()) / points.std()
loader = DataLoader(TensorDataset(points, torch.tensor(digits.target)), 32, shuffle=True)
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
model.apply(initialize)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(5):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
