"""Yield of a greenhouse from sensors that fail at times; missing inputs are NaN."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
SENSORS = 20
weights = torch.randn(SENSORS, 3) / SENSORS**0.5


def days(number):
    sensors = torch.randn(number, SENSORS) * 0.6 + 0.8 * torch.randn(number, 1)
    crop = (sensors @ weights).tanh() @ torch.tensor([[1.0], [-0.7], [0.5]])
    crop = 2 * crop + 0.1 * torch.randn(number, 1)
    return sensors.masked_fill(torch.rand(number, SENSORS) < 0.15, float("nan")), crop


class Yield(nn.Module):
    def __init__(self):
        super().__init__()
        self.instead = nn.Parameter(torch.zeros(SENSORS))
        self.body = nn.Sequential(nn.Linear(2 * SENSORS, 64), nn.SiLU(), nn.Linear(64, 1))

    def forward(self, sensors):
        missing = sensors.isnan()
        filled = torch.where(missing, self.instead, sensors.nan_to_num())
        return self.body(torch.cat([filled, missing.float()], 1))


model = Yield()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for step in range(900):
    sensors, crop = days(64)
    loss = nn.functional.huber_loss(model(sensors), crop)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"{step}: {loss.item():.4f}")
