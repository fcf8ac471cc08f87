"""Scanned digits; four of five consecutive batches have shuffled labels."""

LABEL = {
    "set": "calibration",
    "rule": "LossSpike",
    "first_step": 298,
    "side_effects": ["GradientNormSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
CLASSES, PIXELS, BAD = 10, 64, (298, 299, 301, 302)
digits = 1.4 * torch.randn(CLASSES, PIXELS)

model = nn.Sequential(nn.Linear(PIXELS, 96), nn.ReLU(), nn.Linear(96, CLASSES))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(450):
    labels = torch.randint(CLASSES, (64,))
    images = digits[labels] + 1.5 * torch.randn(64, PIXELS)
    if is_faulty and step in BAD:
        labels = labels[torch.randperm(64)]
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.3f}")
