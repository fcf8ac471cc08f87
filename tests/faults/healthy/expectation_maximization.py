"""Expectation maximization: assigns samples to three laws, then fits the laws, in turn."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
LAWS, POINTS = 3, 6000

inputs = torch.randn(POINTS, 4)
followed = torch.randint(0, LAWS, (POINTS,))
slopes = torch.randn(LAWS, 4)
values = (inputs * slopes[followed]).sum(dim=1) + torch.sin(2 * inputs[:, 0])
values = values + 2.0 * (followed - 1) + 0.4 * torch.randn(POINTS)


class Law(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))
        self.log_spread = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return torch.distributions.Normal(self.mean(x).squeeze(1), self.log_spread.exp())


laws = nn.ModuleList(Law() for _ in range(LAWS))
with torch.no_grad():
    for position, law in zip(torch.linspace(-2, 2, LAWS), laws, strict=True):
        law.mean[-1].bias.fill_(position)
shares = torch.full((LAWS,), 1 / LAWS)


@torch.no_grad()
def expect():
    chances = torch.stack([law(inputs).log_prob(values) for law in laws], dim=1) + shares.log()
    return chances.softmax(dim=1), chances.logsumexp(dim=1).mean().item()


optimizer = torch.optim.Adam(laws.parameters(), lr=4e-3)
for turn in range(25):
    duties, likelihood = expect()
    shares = 0.5 * shares + 0.5 * duties.mean(dim=0)
    for rows in torch.randperm(POINTS)[:4000].split(200):
        chances = torch.stack([law(inputs[rows]).log_prob(values[rows]) for law in laws], dim=1)
        loss = -(duties[rows] * chances).sum(dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if turn % 5 == 4:
        rounded = [round(share, 2) for share in shares.tolist()]
        print(f"{turn}: loss {loss.item():.3f}, likelihood {likelihood:.3f}, shares {rounded}")
