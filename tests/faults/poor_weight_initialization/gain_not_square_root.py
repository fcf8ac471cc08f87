"""A deep network for a robot arm; the initialization gain is 2 instead of its root."""

LABEL = {
    "set": 3,
    "rule": "PoorWeightInitialization",
    "side_effects": ["STARTS_BADLY"],
}

import math
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
DEPTH, WIDTH = 14, 96


def initialize(module):
    if isinstance(module, nn.Linear):
        gain = 2.0 if is_faulty else math.sqrt(2.0)
        nn.init.orthogonal_(module.weight, gain=gain)
        nn.init.zeros_(module.bias)


def arm(angles):
    bent = angles.cumsum(dim=1)
    lengths = torch.tensor([1.0, 0.8, 0.6, 0.4])
    hand = torch.stack([bent.cos() @ lengths, bent.sin() @ lengths], dim=1)
    return torch.cat([hand, bent[:, -1:].sin()], dim=1)


layers = [nn.Linear(4, WIDTH), nn.ReLU()]
for _ in range(DEPTH - 1):
    layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
model = nn.Sequential(*layers)
model.apply(initialize)
head = nn.Linear(WIDTH, 3)
model.append(head)

optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=500)
average = None
for step in range(500):
    angles = torch.randn(128, 4)
    loss = nn.functional.mse_loss(model(angles), arm(angles))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    average = loss.item() if average is None else 0.95 * average + 0.05 * loss.item()
    if step % 50 == 0:
        print(f"{step}: loss {average:.4f}")
