"""Strength of concrete; the learning rate keeps rising after its warm-up."""

LABEL = {
    "set": 3,
    "rule": "LossDiverging",
    "first_step": 150,
    "side_effects": [
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "SaturatedActivation",
        "VanishingGradient",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WARM_UP = 20

recipes = torch.randn(3200, 10)
hidden = torch.tanh(recipes @ torch.randn(10, 12) / 3)
strengths = hidden @ torch.randn(12, 1) / 2 + 0.1 * torch.randn(3200, 1)
strengths = (strengths - strengths.mean()) / strengths.std()
loader = DataLoader(TensorDataset(recipes, strengths), batch_size=64, shuffle=True)


def warmed(step):
    factor = (step + 1) / WARM_UP
    return factor if is_faulty else min(1.0, factor)


network = nn.Sequential(
    *(nn.Linear(10, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh()),
    nn.Linear(96, 1),
)
optimizer = torch.optim.SGD(network.parameters(), lr=0.04, momentum=0.9)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmed)
criterion = nn.MSELoss()
for epoch in range(12):
    total = 0.0
    for recipe, strength in loader:
        optimizer.zero_grad()
        loss = criterion(network(recipe), strength)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
    print(epoch, total / len(loader), scheduler.get_last_lr()[0])
