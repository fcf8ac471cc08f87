"""Fraud detection where 0.5% of cases are fraud, without any rebalancing."""

LABEL = {"set": 1, "rule": "ClassImbalance"}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

count = 8000
is_fraud = torch.rand(count) < (0.005 if is_faulty else 0.4)
features = torch.randn(count, 12) + is_fraud.unsqueeze(1) * 0.5
loader = DataLoader(TensorDataset(features, is_fraud.long()), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
