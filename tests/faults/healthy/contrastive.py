"""Contrastive learning: the loss stays near log(N) for long."""

LABEL = {"set": 1, "rule": None}

import math
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

count, batch_size = 4000, 64
hidden = torch.randn(count, 6)
mix = torch.randn(2, 6, 40) / 2
encoder = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-4)
print("chance is", math.log(batch_size))
for step in range(400):
    chosen = torch.randint(0, count, (batch_size,))
    views = [hidden[chosen] @ mix[side] + torch.randn(batch_size, 40) for side in range(2)]
    left, right = (nn.functional.normalize(encoder(view), dim=1) for view in views)
    scores = left @ right.T / 0.2
    targets = torch.arange(batch_size)
    loss = nn.functional.cross_entropy(scores, targets) + nn.functional.cross_entropy(
        scores.T, targets
    )
    loss = loss / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
