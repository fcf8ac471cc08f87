"""Gradients of eight small batches are accumulated before each step."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

points = torch.randn(6400, 16)
labels = (points[:, :8].pow(2).sum(1) > points[:, 8:].pow(2).sum(1)).long()
loader = DataLoader(TensorDataset(points, labels), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for epoch in range(2):
    for index, (batch, targets) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(batch), targets) / 8
        loss.backward()
        if index % 8 == 7:
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, loss.item() * 8)
