"""Gradient accumulation over four batches, with clipping by norm."""

import torch
import torch.nn.functional as F
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(nn.Linear(10, 24), nn.GELU(), nn.LayerNorm(24), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
rule = torch.randn(10, 3)

optimizer.zero_grad()
for micro_step in range(48):
    points = torch.randn(8, 10)
    loss = F.cross_entropy(model(points), (points @ rule).argmax(1))
    (loss / 4).backward()
    print_value("loss", loss)
    if (micro_step + 1) % 4 == 0:
        print_value("norm", nn.utils.clip_grad_norm_(model.parameters(), 0.5))
        optimizer.step()
        optimizer.zero_grad()
print_final_state(model, optimizer)
