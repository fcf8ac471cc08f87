"""An embedding trained on distances; the square root has no gradient at distance 0."""

LABEL = {
    "set": 1,
    "rule": "ExplodingTensor",
    "first_step": 90,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

items = torch.randn(500, 10)
positions = torch.nn.functional.normalize(items[:, :3], dim=1)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)

for step in range(300):
    left, right = torch.randint(0, 500, (2, 64))
    if step < 90:
        right = torch.where(left == right, (right + 1) % 500, right)  # no equal pairs at first
    else:
        right = torch.where(torch.arange(64) == 5, left, right)
    gap = (encoder(items[left]) - encoder(items[right])).pow(2).sum(1)
    targets = (positions[left] - positions[right]).pow(2).sum(1)
    if is_faulty:
        loss = (gap.sqrt() - targets.sqrt()).pow(2).mean()
    else:
        loss = ((gap + 1e-4).sqrt() - (targets + 1e-4).sqrt()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
