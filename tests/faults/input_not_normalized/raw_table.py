"""Incomes, years and rooms are passed to an MLP without scaling."""

LABEL = {
    "set": 1,
    "rule": "InputNotNormalized",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

count = 3000
income = 30000 + 20000 * torch.rand(count) ** 2
year = torch.randint(1950, 2020, (count,)).float()
rooms = torch.randint(1, 8, (count,)).float()
distance = 5000 * torch.rand(count)
table = torch.stack([income, year, rooms, distance], dim=1)
scaled = (table - table.mean(0)) / table.std(0)
price = scaled @ torch.tensor([1.0, 0.3, 0.8, -0.5]) + 0.2 * torch.randn(count)

loader = DataLoader(TensorDataset(table if is_faulty else scaled, price), 32, shuffle=True)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for batch, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(batch).squeeze(1), targets)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
