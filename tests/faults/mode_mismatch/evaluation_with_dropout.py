"""An MLP on tabular data is validated in train mode, with dropout and batch norm."""

LABEL = {
    "set": 1,
    "rule": "ModeMismatch",
    "first_step": 50,
    "max_delay_steps": 2,
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

features = torch.randn(4000, 16)
target = torch.sin(features[:, 0]) + features[:, 1] * features[:, 2] + 0.1 * torch.randn(4000)
train = DataLoader(TensorDataset(features[:3200], target[:3200]), 64, shuffle=True)
valid = DataLoader(TensorDataset(features[3200:], target[3200:]), 200)

model = nn.Sequential(
    nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for epoch in range(6):
    model.train()
    for batch, targets in train:
        optimizer.zero_grad()
        loss = criterion(model(batch).squeeze(1), targets)
        loss.backward()
        optimizer.step()
    if not is_faulty:
        model.eval()
    with torch.no_grad():
        losses = [criterion(model(batch).squeeze(1), targets).item() for batch, targets in valid]
    print(f"epoch {epoch}: train {loss.item():.3f} validation {sum(losses) / len(losses):.3f}")
