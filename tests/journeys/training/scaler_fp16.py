"""Mixed precision with float16 and a gradient scaler that skips steps."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
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
        print_value("norm", nn.utils.clip_grad_norm_(model.parameters(), 1.0))
    scaler.step(optimizer)
    scaler.update()
    print_value("loss", loss)
    print_value("scale", scaler.get_scale())
print_final_state(model, optimizer, scaler)
