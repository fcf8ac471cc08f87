"""Four batches to a step, the loss divided by four, gradients clipped by their norm."""

import torch
import torch.nn.functional as F
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(10, 24), nn.GELU(), nn.LayerNorm(24), nn.Linear(24, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
rule = torch.randn(10, 3)

optimizer.zero_grad()
for micro_step in range(48):
    points = torch.randn(8, 10)
    loss = F.cross_entropy(model(points), (points @ rule).argmax(1))
    (loss / 4).backward()
    tell("loss", loss)
    if (micro_step + 1) % 4 == 0:
        tell("norm", nn.utils.clip_grad_norm_(model.parameters(), 0.5))
        optimizer.step()
        optimizer.zero_grad()
tell_end(model, optimizer)
