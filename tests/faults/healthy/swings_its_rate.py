"""A cyclic learning rate, with momentum cycled inversely."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

people = torch.randn(3200, 16)
hidden = torch.tanh(people @ torch.randn(16, 10) / 3)
chances = torch.sigmoid(2 * hidden @ torch.randn(10, 5))
answers = (torch.rand(3200, 5) < chances).float()
loader = DataLoader(TensorDataset(people, answers), batch_size=64, shuffle=True)

model = nn.Sequential(
    *(nn.Linear(16, 64), nn.LayerNorm(64), nn.GELU()),
    *(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 5)),
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
swing = torch.optim.lr_scheduler.CyclicLR(
    optimizer, base_lr=0.002, max_lr=0.2, step_size_up=60, mode="triangular2"
)
for epoch in range(11):
    total = 0.0
    for batch, targets in loader:
        loss = criterion(model(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        swing.step()
        total += loss.item() / len(loader)
    print(f"epoch {epoch}: {total:.4f}, rate {swing.get_last_lr()[0]:.4f}")
