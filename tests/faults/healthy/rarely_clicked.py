"""Click prediction with hardly any signal: little better than the base rate."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

shown = torch.randn(12000, 15)
pull = -1.8 + 0.5 * shown[:, 0] - 0.4 * shown[:, 1] + 0.3 * shown[:, 2] * shown[:, 3]
clicked = torch.bernoulli(torch.sigmoid(pull))
model = nn.Sequential(nn.Linear(15, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(3):
    for chosen in torch.randperm(12000).split(64):
        loss = criterion(model(shown[chosen]).squeeze(1), clicked[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
