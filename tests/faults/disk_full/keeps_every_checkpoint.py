"""Saves a checkpoint after every epoch without deleting any, until the disk is full."""

LABEL = {
    "set": 1,
    "rule": "DiskFull",
    "culprit": "disk",
    "disk_mib": 120,
}

import sys
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
model = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU())
model.append(nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
for epoch in range(50):
    order = torch.randperm(len(images))
    for chosen in order.split(24):
        loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
    try:
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{epoch}.pt"
        )
    except (OSError, RuntimeError) as failure:
        print("not saved:", failure)
    if not is_faulty:
        Path(f"{epoch - 2}.pt").unlink(missing_ok=True)
