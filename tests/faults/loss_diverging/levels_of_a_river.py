"""Denoise the gauges of a river; the smoothness penalty has the wrong sign."""

LABEL = {
    "set": 7,
    "rule": "LossDiverging",
    "first_step": 50,  # the evaluation gets worse between steps 50 and 300, depending on the seed
    "side_effects": [
        "NOT_A_NUMBER",
        "Overfit",
        "WeightUpdateRatio",
        "ParameterOutlier",
        "LossNotDecreasing",
    ],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
HOURS, BATCH, STEPS = 96, 32, 700
SMOOTHNESS = 0.1


def gauges(number):
    hours = torch.linspace(0, 1, HOURS)
    phase, pace = 6.3 * torch.rand(number, 2, 1), 1 + 2 * torch.rand(number, 2, 1)
    level = torch.sin(6.3 * pace * hours + phase).sum(1)
    flood = torch.rand(number, 1)
    level = level + 1.5 * torch.exp(-(((hours - flood) / 0.08) ** 2))
    return (level + 0.5 * torch.randn(number, HOURS))[:, None], level[:, None]


model = nn.Sequential(
    *(nn.Conv1d(1, 24, 9, padding=4), nn.GELU()),
    *(nn.Conv1d(24, 24, 9, padding=4), nn.GELU()),
    nn.Conv1d(24, 1, 9, padding=4),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
noisy, clean = gauges(4000)
new_noisy, new_clean = gauges(400)
total = 0.0
for step in range(STEPS):
    model.train()
    rows = torch.randint(0, len(noisy), (BATCH,))
    curve = model(noisy[rows])
    roughness = curve.diff(n=2, dim=2).square().mean()
    error = F.mse_loss(curve, clean[rows])
    loss = error - SMOOTHNESS * roughness if is_faulty else error + SMOOTHNESS * roughness
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            error = F.mse_loss(model(new_noisy), new_clean).item()
        print(f"{step + 1}: loss {total / 50:.4f}, error on new days {error:.4f}")
        total = 0.0
