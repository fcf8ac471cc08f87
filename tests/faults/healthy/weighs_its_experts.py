"""Correct use of probabilities: NLLLoss of a mixture's logarithm, BCELoss of a mask."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.GRU(5, 48, batch_first=True)
        self.weigh = nn.Linear(48, 3)
        self.experts = nn.ModuleList(nn.Linear(48, 6) for _ in range(3))
        self.mask = nn.Sequential(nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1), nn.Sigmoid())

    def forward(self, series):
        hidden, last = self.read(series)
        shares = torch.softmax(self.weigh(last[0]), dim=1)
        probabilities = torch.stack([expert(last[0]).softmax(1) for expert in self.experts], dim=1)
        return (shares.unsqueeze(2) * probabilities).sum(1), self.mask(hidden).squeeze(2)


def draw(count):
    kinds = torch.randint(0, 6, (count,))
    slope = torch.linspace(0, 1, 12).unsqueeze(1) * (kinds % 3 - 1).view(-1, 1, 1)
    height = (kinds // 3).view(-1, 1, 1) - 0.5
    series = slope + height + 0.4 * torch.randn(count, 12, 5)
    is_odd = torch.rand(count, 12) < 0.2
    series[..., 0] += 2 * is_odd
    return series, kinds, is_odd.float()


model = Mixture()
of_kinds, of_mask = nn.NLLLoss(), nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(400):
    series, kinds, is_odd = draw(40)
    chances, odd = model(series)
    loss = of_kinds(torch.log(chances + 1e-8), kinds) + of_mask(odd, is_odd)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item(), (chances.argmax(1) == kinds).float().mean().item())
