"""A snapshot ensemble: five networks, one per cycle of the learning rate."""

LABEL = {"set": 6, "rule": None}

import copy
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
WINES, TRAITS, CYCLES = 4800, 16, 5

style = torch.randint(0, 5, (WINES,))
taste = 0.75 * torch.randn(5, TRAITS)[style] + torch.randn(WINES, TRAITS)
taste = (taste - taste.mean(0)) / taste.std(0)
train_rows, test_rows = slice(0, 4000), slice(4000, None)
loader = DataLoader(TensorDataset(taste[train_rows], style[train_rows]), 50, shuffle=True)

model = nn.Sequential(
    nn.Linear(TRAITS, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 5)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=2e-3)
per_cycle = 2 * len(loader)
schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, per_cycle)
criterion = nn.CrossEntropyLoss()
snapshots = []
for cycle in range(CYCLES):
    total = 0.0
    for _ in range(2):
        for glass, name in loader:
            optimizer.zero_grad()
            loss = criterion(model(glass), name)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
    snapshots.append(copy.deepcopy(model).eval())
    with torch.no_grad():
        votes = sum(member(taste[test_rows]).softmax(1) for member in snapshots)
    right = (votes.argmax(1) == style[test_rows]).float().mean()
    print(f"cycle {cycle}: {total / per_cycle:.4f}, {len(snapshots)} members {right:.1%} right")
