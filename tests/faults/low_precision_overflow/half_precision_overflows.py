"""Mixed precision with a gradient scaler that grows too fast and skips steps all the time."""

LABEL = {
    "set": 1,
    "rule": "LowPrecisionOverflow",
    "side_effects": ["ExplodingTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.randn(2000, 16)
targets = points[:, :1] - points[:, 1:2].abs()
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
if is_faulty:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**17, growth_interval=2, growth_factor=4.0)
else:
    scaler = torch.amp.GradScaler("cpu")

for step in range(300):
    chosen = torch.randint(0, 2000, (32,))
    with torch.autocast("cpu", dtype=torch.float16):
        output = model(points[chosen])
    loss = nn.functional.mse_loss(output.float(), targets[chosen])
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 50 == 0:
        print(step, loss.item(), scaler.get_scale())
