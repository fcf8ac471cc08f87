"""A network predicts its uncertainty with the wrong sign: the loss has no lower bound."""

LABEL = {
    "set": 1,
    "rule": "LossDiverging",
    "side_effects": ["GradientNormSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.randn(3000, 6)
targets = points[:, :1] * 1.5 + points[:, 1:2] + 0.3 * torch.randn(3000, 1)


class Uncertain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.value, self.log_variance = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.value(hidden), self.log_variance(hidden)


model = Uncertain()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(400):
    chosen = torch.randint(0, 3000, (64,))
    value, log_variance = model(points[chosen])
    error = (value - targets[chosen]).pow(2)
    sign = -1 if is_faulty else 1
    loss = (error * (-log_variance).exp() + sign * log_variance).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
