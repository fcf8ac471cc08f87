"""A density model, whose loss falls below zero as intended."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 9))

    def forward(self, x, y):
        weight, mean, log_scale = self.net(x).chunk(3, dim=1)
        each = torch.distributions.Normal(mean, log_scale.exp().clamp(min=0.01)).log_prob(y)
        return torch.logsumexp(torch.log_softmax(weight, 1) + each, dim=1)


model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(400):
    x = torch.randn(128, 3)
    y = torch.tanh(x[:, :1]) * 0.5 + 0.03 * torch.randn(128, 1)
    loss = -model(x, y).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
