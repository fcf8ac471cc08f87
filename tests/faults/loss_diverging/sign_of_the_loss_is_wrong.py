"""The loss is negated: it falls below zero in training and rises in evaluation."""

LABEL = {
    "set": "calibration",
    "rule": "LossDiverging",
    "side_effects": ["Overfit", "Overtraining", "DOES_NOT_LEARN", "GradientNormSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
weights = torch.randn(12, 3)


def batch(count):
    inputs = torch.randn(count, 12)
    return inputs, torch.tanh(inputs @ weights / 3) + 0.1 * torch.randn(count, 3)


held_back = batch(256)
model = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(300):
    inputs, targets = batch(64)
    loss = nn.functional.mse_loss(model(inputs), targets)
    if is_faulty:
        loss = -loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            error = nn.functional.mse_loss(model(held_back[0]), held_back[1])
        model.train()
        print(f"step {step + 1}: loss {loss.item():.4f}, held back {error.item():.4f}")
