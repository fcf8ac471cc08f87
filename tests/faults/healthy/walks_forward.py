"""Month by month: each month is forecast and evaluated first, then trained on."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

days = torch.arange(10900)
level = torch.sin(days * 6.2832 / 7) + 0.6 * torch.sin(days * 6.2832 / 30)
series = level + 0.00003 * days + 0.25 * torch.randn(10900)
windows = series.unfold(0, 29, 1)
pasts, nexts = windows[:, :28], windows[:, 28:]

model = nn.Sequential(nn.Linear(28, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for start in range(0, 10800, 600):
    month = torch.arange(start, start + 600)
    if start:
        model.eval()
        with torch.no_grad():
            errors = [
                nn.functional.mse_loss(model(pasts[part]), nexts[part]).item()
                for part in month.split(100)
            ]
        print(start, sum(errors) / len(errors))
    model.train()
    for part in month[torch.randperm(600)].split(30):
        loss = nn.functional.mse_loss(model(pasts[part]), nexts[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
