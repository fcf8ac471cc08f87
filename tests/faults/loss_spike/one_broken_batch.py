"""Forecast of series; one file of the data has other units."""

LABEL = {
    "set": 1,
    "rule": "LossSpike",
    "culprit": "200",
    "first_step": 200,
    "side_effects": ["GradientNormSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

time = torch.arange(0, 24).float()
phases = torch.rand(8000, 1) * 6.28
series = torch.sin(time / 3 + phases) + 0.1 * torch.randn(8000, 24)
if is_faulty:
    series[6400:6432] *= 12  # batch 200

model = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(250):
    batch = series[step * 32 : step * 32 + 32]
    loss = nn.functional.mse_loss(model(batch[:, :20]), batch[:, 20:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
