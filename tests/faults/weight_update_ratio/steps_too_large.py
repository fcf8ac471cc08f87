"""Adam with a learning rate of 5: every step replaces the weights."""

LABEL = {
    "set": 1,
    "rule": "WeightUpdateRatio",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "DeadRelu"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.randn(2000, 64)
labels = (points[:, :4].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5.0 if is_faulty else 2e-3)
for step in range(250):
    chosen = torch.randint(0, 2000, (32,))
    loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
