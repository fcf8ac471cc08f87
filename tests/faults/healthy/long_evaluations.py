"""A long evaluation and a checkpoint every fifty steps, which then take much longer."""

LABEL = {"set": 1, "rule": None}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

points = torch.randn(30000, 24)
labels = (points[:, :3].sum(1) + 0.5 * torch.randn(30000) > 0).long()
model = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
folder = Path(tempfile.mkdtemp())
for step in range(300):
    chosen = torch.randint(0, 20000, (32,))
    loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            for start in range(20000, 30000, 100):
                outputs = model(points[start : start + 100])
                nn.functional.cross_entropy(outputs, labels[start : start + 100])
        torch.save({"model": model.state_dict(), "step": step}, folder / f"{step}.pt")
        model.train()
