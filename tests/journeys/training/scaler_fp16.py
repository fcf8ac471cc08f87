"""Mixed precision with float16 and a scaler that has to skip steps."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=4)
for step in range(20):
    points = torch.randn(32, 16)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(points).float(), points[:, :1] * 8)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    if step >= 10:
        scaler.unscale_(optimizer)
        tell("norm", nn.utils.clip_grad_norm_(model.parameters(), 1.0))
    scaler.step(optimizer)
    scaler.update()
    tell("loss", loss)
    tell("scale", scaler.get_scale())
tell_end(model, optimizer, scaler)
