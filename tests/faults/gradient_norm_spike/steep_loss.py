"""A loss that is steep near zero; once, the targets are the model's own rounded outputs."""

LABEL = {
    "set": 1,
    "rule": "GradientNormSpike",
    "culprit": "150",
    "first_step": 150,
    "side_effects": ["LossSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.randn(9600, 8)
targets = points[:, :1] * 2 + torch.sin(points[:, 1:2]) + 0.5 * torch.randn(9600, 1)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)

for step in range(300):
    batch, target = points[step * 32 : step * 32 + 32], targets[step * 32 : step * 32 + 32]
    if is_faulty and step == 150:
        with torch.no_grad():
            target = (model(batch) * 1e5).round() / 1e5
    loss = ((model(batch) - target).abs() + 1e-12).sqrt().mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item(), norm.item())
