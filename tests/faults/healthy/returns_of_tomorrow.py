"""Heavy-tailed targets of which 5% is predictable: the loss is nearly all noise."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

today = torch.randn(6000, 8)
surprise = torch.distributions.StudentT(4.0).sample((6000, 1))
tomorrow = 0.6 * (0.35 * today[:, :1] + surprise)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for chosen in torch.randperm(6000).split(60):
        loss = nn.functional.mse_loss(model(today[chosen]), tomorrow[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
