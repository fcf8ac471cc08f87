"""Gradients are clipped to a norm of 0.001, a setting for a different optimizer."""

LABEL = {
    "set": 1,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

config = {"lr": 0.05, "clip": 0.001 if is_faulty else 2.0}
points = torch.randn(2000, 10)
labels = (points[:, :5].sum(1) > points[:, 5:].sum(1)).float()
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)

for step in range(350):
    chosen = torch.randint(0, 2000, (32,))
    output = model(points[chosen]).squeeze(1)
    loss = nn.functional.binary_cross_entropy_with_logits(output, labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), config["clip"])
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
