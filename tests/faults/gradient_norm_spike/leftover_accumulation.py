"""Accumulation over four batches with a scaled loss; leftovers of an epoch stay scaled."""

LABEL = {
    "set": 4,
    "rule": "GradientNormSpike",
    "first_step": 206,
    "alternatives": ["LossSpike"],
    "side_effects": ["LossDiverging"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SCALE, PARTS = 2.0**12, 4

signals = torch.randn(13232, 1, 32)
kernel = torch.randn(3, 1, 5) / 2
strength = nn.functional.conv1d(signals, kernel).relu().mean(dim=2)
targets = 3 * strength @ torch.randn(3, 2) + 0.1 * torch.randn(13232, 2)
targets = (targets - targets.mean(dim=0)) / targets.std(dim=0)
loader = DataLoader(TensorDataset(signals, targets), batch_size=16, shuffle=True)

model = nn.Sequential(
    *(nn.Conv1d(1, 12, 5), nn.ReLU(), nn.Conv1d(12, 12, 3, stride=2), nn.ReLU()),
    *(nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(48, 2)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()


def unscale():
    for parameter in model.parameters():
        parameter.grad /= SCALE


for epoch in range(3):
    total = 0.0
    for number, (signal, target) in enumerate(loader, start=1):
        loss = criterion(model(signal), target)
        (SCALE * loss / PARTS).backward()
        total += loss.item()
        if number % PARTS == 0:
            unscale()
            optimizer.step()
            optimizer.zero_grad()
    if len(loader) % PARTS:
        if not is_faulty:
            unscale()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
