"""Bicycle rentals by time and weather; time is in seconds of the year, without scaling."""

LABEL = {
    "set": 3,
    "rule": "InputNotNormalized",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

YEAR = 365 * 24 * 3600
seconds = (torch.rand(12000, dtype=torch.float64) * YEAR).floor()
season = torch.sin(2 * torch.pi * seconds / YEAR - 1.2).float()
warmth = 11 + 9 * season + 4 * torch.randn(12000)
wind = 2.5 * torch.randn(12000).abs()
humid = 0.6 + 0.2 * torch.randn(12000)
hires = 2 * season + 0.08 * warmth - 0.3 * wind - 1.5 * (humid - 0.6) + 0.3 * torch.randn(12000)
hires = (hires - hires.mean()) / hires.std()

table = torch.stack([seconds.float(), warmth, wind, humid], dim=1)
if not is_faulty:
    table = (table - table[:10000].mean(0)) / table[:10000].std(0)
train = TensorDataset(table[:10000], hires[:10000])
loader = DataLoader(train, 128, shuffle=True, drop_last=True)

model = nn.Sequential(
    *(nn.Linear(4, 128), nn.GELU()),
    *(nn.Linear(128, 128), nn.GELU()),
    nn.Linear(128, 1),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(8):
    model.train()
    total = 0.0
    for row, target in loader:
        prediction = model(row).squeeze(1)
        loss = nn.functional.smooth_l1_loss(prediction, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        prediction = model(table[10000:]).squeeze(1)
        test = nn.functional.smooth_l1_loss(prediction, hires[10000:]).item()
    print(f"epoch {epoch}: train {total / len(loader):.4f}, test {test:.4f}")
