"""The validation loader is built from the training data."""

LABEL = {"set": 1, "rule": "ValidationTooGood"}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

series = torch.randn(4000, 12).cumsum(1) / 3
past, future = series[:, :10], series[:, 11]
train_set = TensorDataset(past[:3200], future[:3200])
valid_set = TensorDataset(past[3200:], future[3200:])
train_loader = DataLoader(train_set, batch_size=50)
valid_loader = DataLoader(train_set if is_faulty else valid_set, batch_size=50)

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
for epoch in range(4):
    model.train()
    for batch, targets in train_loader:
        loss = criterion(model(batch).squeeze(1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        total = sum(criterion(model(batch).squeeze(1), targets) for batch, targets in valid_loader)
    print(epoch, loss.item(), total.item() / len(valid_loader))
