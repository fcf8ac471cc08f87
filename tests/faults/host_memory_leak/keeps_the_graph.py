"""Outputs are kept for a plot at the end, with everything that autograd retains."""

LABEL = {"set": 1, "rule": "HostMemoryLeak"}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

model = nn.Sequential(nn.Linear(64, 2048), nn.ReLU(), nn.Linear(2048, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
history = []

for step in range(500):
    points = torch.randn(256, 64)
    targets = points[:, :8].mean(1, keepdim=True) * 3
    output = model(points)
    loss = nn.functional.mse_loss(output, targets)
    optimizer.zero_grad()
    loss.backward(retain_graph=is_faulty)
    optimizer.step()
    history.append((loss, output) if is_faulty else (loss.item(), output.mean().item()))
    if step % 50 == 0:
        print(step, loss.item())
