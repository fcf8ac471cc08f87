"""Triplet loss: once the margin is kept, loss and gradient of a batch are exactly 0."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

people = torch.randn(20, 16)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.TripletMarginLoss(margin=0.5)
for step in range(400):
    anchor = torch.randint(0, 20, (16,))
    negative = (anchor + torch.randint(1, 20, (16,))) % 20
    views = [people[person] + 0.5 * torch.randn(16, 16) for person in (anchor, anchor, negative)]
    loss = criterion(*(nn.functional.normalize(model(view), dim=1) for view in views))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
