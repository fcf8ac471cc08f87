"""Risk score from unscaled measurements of a check-up (pulse, pressure, sugar, weight)."""

LABEL = {
    "set": 6,
    "rule": "InputNotNormalized",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "SaturatedActivation", "VanishingGradient"],
}

import sys

import numpy as np
import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
random = np.random.default_rng(seed)

MEANS = np.array([72.0, 124.0, 81.0, 98.0, 76.0, 171.0, 49.0], dtype=np.float32)
SPREADS = np.array([11.0, 15.0, 9.0, 14.0, 13.0, 9.0, 16.0], dtype=np.float32)


def patients(number):
    common = random.standard_normal((number, 2)) @ random_mix
    body = (0.7 * common + 0.7 * random.standard_normal((number, 7))).astype(np.float32)
    risk = body @ lean + 0.8 * np.tanh(body[:, 1] * body[:, 3]) + 0.5 * np.maximum(body[:, 6], 0)
    risk = risk + 0.25 * random.standard_normal(number)
    return MEANS + SPREADS * body, risk.astype(np.float32)


random_mix = random.standard_normal((2, 7))
lean = 0.4 * random.standard_normal(7)
measured, risk = patients(8000)
if not is_faulty:
    measured = (measured - MEANS) / SPREADS
risk = (risk - risk.mean()) / risk.std()
measured, risk = torch.from_numpy(measured), torch.from_numpy(risk)[:, None]
train, test = slice(0, 7000), slice(7000, None)

model = nn.Sequential(nn.Linear(7, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.SmoothL1Loss()
for epoch in range(6):
    order = torch.randperm(7000)
    for rows in order.split(50):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(measured[train][rows]), risk[train][rows])
        loss.backward()
        optimizer.step()
    with torch.inference_mode():
        unseen = criterion(model(measured[test]), risk[test]).item()
    print(f"epoch {epoch}: last batch {loss.item():.4f}, unseen {unseen:.4f}")
