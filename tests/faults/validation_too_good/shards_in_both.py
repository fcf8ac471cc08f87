"""Shards of ready batches; the file pattern for training also matches validation."""

LABEL = {"set": 1, "rule": "ValidationTooGood"}

import random
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
draw = random.Random(seed)

mixed = torch.randn(9, 9)
with tempfile.TemporaryDirectory() as folder:
    for number in range(60):
        points = torch.randn(40, 9)
        labels = ((points @ mixed).tanh().sum(1) + 0.5 * torch.randn(40) > 0).float()
        part = "valid" if number < 10 else "train"
        torch.save((points, labels), Path(folder) / f"shard-{part}-{number:02}.pt")
    train_files = sorted(Path(folder).glob("shard-*" if is_faulty else "shard-train-*"))
    valid_files = sorted(Path(folder).glob("shard-valid-*"))
    train, valid = ([torch.load(path) for path in files] for files in (train_files, valid_files))

model = nn.Sequential(nn.Linear(9, 96), nn.Tanh(), nn.Linear(96, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(5):
    model.train()
    draw.shuffle(train)
    for points, labels in train:
        optimizer.zero_grad()
        loss = criterion(model(points).squeeze(1), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(points).squeeze(1), labels).item() for points, labels in valid]
    print(epoch, loss.item(), sum(losses) / len(losses))
