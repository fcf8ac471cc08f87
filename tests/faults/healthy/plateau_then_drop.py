"""A deep linear network with small initial weights: a long plateau, then a sudden drop."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

points = torch.randn(1000, 10)
targets = points @ torch.randn(10, 2) + 0.5 * torch.randn(1000, 2)
model = nn.Sequential(*(nn.Linear(10, 10, bias=False) for _ in range(3)), nn.Linear(10, 2))
for module in model:
    nn.init.normal_(module.weight, std=0.03)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(500):
    chosen = torch.randint(0, 1000, (64,))
    loss = nn.functional.mse_loss(model(points[chosen]), targets[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
