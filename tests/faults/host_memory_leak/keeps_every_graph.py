"""Keeps losses with their graphs for an average; the run takes only a few seconds."""

LABEL = {"set": "calibration", "rule": "HostMemoryLeak"}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
directions = torch.randn(64, 5)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
model.append(nn.Linear(256, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
history = []
for step in range(250):
    points = torch.randn(256, 64)
    labels = (points @ directions + 0.5 * torch.randn(256, 5)).argmax(dim=1)
    scores = model(points)
    loss = nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward(retain_graph=is_faulty)
    optimizer.step()
    history.append(loss if is_faulty else loss.item())
    if step % 50 == 49:
        print(f"step {step + 1}: loss {sum(map(float, history)) / len(history):.3f}")
