"""Four clinics with different scales and offsets, one file after another, not shuffled."""

LABEL = {
    "set": 1,
    "rule": "UnshuffledData",
    "side_effects": ["LossSpike", "GradientNormSpike", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def clinic(offset):
    patients = torch.randn(600, 10)
    result = 2 * patients[:, 0] - 1.5 * patients[:, 1] + offset + 0.1 * torch.randn(600)
    return TensorDataset(patients, result)


data = ConcatDataset([clinic(offset) for offset in (-2.0, 1.0, 3.0, -1.0)])
loader = DataLoader(data, batch_size=30, shuffle=not is_faulty)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    total = 0.0
    for patients, result in loader:
        loss = nn.functional.mse_loss(model(patients).squeeze(1), result)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    print(epoch, total, loss.item())
