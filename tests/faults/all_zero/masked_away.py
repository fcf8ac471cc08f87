"""A zero mask closes the gate between two parts of a network, so no signal passes."""

LABEL = {
    "set": 1,
    "rule": "AllZero",
    "culprit": "gate",
    "alternatives": ["DeadRelu"],
    "side_effects": ["VanishingGradient"],
    "parameters": {"AllZero": {"collection_names": ["relu_output"]}},
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.deep = nn.Linear(10, 4), nn.Linear(10, 32)
        self.gate = nn.ReLU()
        self.out = nn.Linear(36, 1)
        self.mask = torch.zeros(32) if is_faulty else torch.ones(32)

    def forward(self, x):
        deep = self.gate(self.deep(x) * self.mask)
        return self.out(torch.cat([self.wide(x), deep], dim=1))


model = Gated()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    points = torch.randn(48, 10)
    targets = points[:, :1].abs() + points[:, 1:2]
    loss = nn.functional.mse_loss(model(points), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
