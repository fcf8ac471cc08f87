"""Regression with a custom layer, whose weight is created by torch.ones."""

LABEL = {
    "set": 1,
    "rule": "SymmetricUnits",
    "culprit": "0.weight",
    "first_step": 1,
    "side_effects": ["DOES_NOT_LEARN"],
}

import math
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Dense(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        start = torch.ones(outputs, inputs) if is_faulty else torch.randn(outputs, inputs)
        self.weight = nn.Parameter(start / math.sqrt(inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


model = nn.Sequential(Dense(8, 40), nn.SiLU(), Dense(40, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
points = torch.randn(2000, 8)
targets = (points[:, :1] * points[:, 1:2] + points[:, 2:3].abs()).detach()

for step in range(350):
    chosen = torch.randint(0, 2000, (50,))
    loss = (model(points[chosen]) - targets[chosen]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
