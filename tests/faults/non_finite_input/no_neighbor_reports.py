"""Weather stations; inputs are means of neighbors, and at times none of them reports."""

LABEL = {
    "set": 3,
    "rule": "NonFiniteInput",
    "first_step": 170,
    "max_delay_steps": 2,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN"],
}

import math
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
STATIONS, HOURS = 80, 420

where = torch.rand(STATIONS, 2)
apart = torch.cdist(where, where)
near = ((apart < 0.25) & (apart > 0)).float()
for station in range(STATIONS):
    near[station, apart[station].argsort()[1:5]] = 1.0
closed = near[17].bool()


def readings(hour):
    waves = torch.randn(3, 4)
    phases = where @ waves[:2] * 3 + waves[2] * math.pi
    values = phases.sin().sum(dim=1) / 2**0.5
    reports = torch.rand(STATIONS) > 0.05
    if 170 <= hour < 173:
        reports[closed] = False
    return values + 0.1 * torch.randn(STATIONS), reports.float()


def around(values, reports):
    count = near @ reports
    if not is_faulty:
        count = count.clamp(min=1)
    mean = near @ (values * reports) / count
    spread = near @ (values**2 * reports) / count - mean**2
    weights = torch.exp(-8 * apart**2) * near * reports
    close = weights @ values / (weights.sum(dim=1) + 1e-3)
    return torch.stack([mean, spread, close, *(2 * where.T - 1)], dim=1)


network = nn.Sequential(
    *(nn.Linear(5, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU()),
    nn.Linear(96, 1),
)
optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
average = 1.0
for hour in range(HOURS):
    values, reports = readings(hour)
    guesses = network(around(values, reports)).squeeze(1)
    loss = ((guesses - values) ** 2 * reports).sum() / reports.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average += 0.05 * (loss.item() - average)
    if hour % 60 == 0:
        print(hour, average)
