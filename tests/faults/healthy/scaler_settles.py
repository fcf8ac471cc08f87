"""Mixed precision: the gradient scaler skips the first steps until its scale fits."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

points = torch.randn(2000, 16)
targets = points[:, :1] * 40 - points[:, 1:2].abs() * 20
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
for step in range(300):
    chosen = torch.randint(0, 2000, (32,))
    with torch.autocast("cpu", dtype=torch.float16):
        output = model(points[chosen])
    loss = nn.functional.mse_loss(output.float() * 10, targets[chosen])
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 100.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 50 == 0:
        print(step, loss.item(), scaler.get_scale())
