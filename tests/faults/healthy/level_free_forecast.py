"""The model subtracts the level of each series and adds it back to the forecast."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
SHOPS, DAYS = 80, 400
size = 10 ** (1 + 3 * torch.rand(SHOPS, 1))
week = 1 + 0.4 * torch.sin(2 * torch.pi * torch.arange(DAYS) / 7 + torch.rand(SHOPS, 1))
sales = size * week * torch.exp(0.1 * torch.randn(SHOPS, DAYS))


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 7)

    def forward(self, past):
        level = past.mean(1, keepdim=True)
        h, _ = self.gru((past / level - 1).unsqueeze(-1))
        return (self.out(h[:, -1]) + 1) * level, level


def batch(lo, hi, n=64):
    shop, day = torch.randint(0, SHOPS, (n, 1)), torch.randint(lo, hi - 35, (n, 1))
    w = sales[shop, day + torch.arange(35)]
    return w[:, :28], w[:, 28:]


model = Forecast()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(350):
    past, future = batch(0, 320)
    pred, level = model(past)
    loss = ((pred - future) / level).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 70 == 69:
        with torch.no_grad():
            past, future = batch(320, 400, 300)
            pred, level = model(past)
        print(step + 1, loss.item(), ((pred - future) / level).abs().mean().item())
