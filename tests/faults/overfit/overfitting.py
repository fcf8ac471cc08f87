"""A large network and 80 noisy samples: the validation loss reaches a minimum, then rises."""

LABEL = {
    "set": 1,
    "rule": "Overfit",
    "side_effects": ["Overtraining", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

count = 80 if is_faulty else 2400
points = torch.randn(count + 400, 20)
chance = torch.sigmoid(points[:, :3].sum(1) * 1.5)
labels = (torch.rand(count + 400) < chance).float()
train = DataLoader(TensorDataset(points[:count], labels[:count]), 20, shuffle=True)
valid = DataLoader(TensorDataset(points[count:], labels[count:]), 200)
model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3 if is_faulty else 5e-4)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(100 if is_faulty else 4):
    model.train()
    for batch, targets in train:
        optimizer.zero_grad()
        loss = criterion(model(batch).squeeze(1), targets)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(batch).squeeze(1), targets) for batch, targets in valid]
    if epoch % 10 == 0:
        print(epoch, loss.item(), torch.stack(losses).mean().item())
