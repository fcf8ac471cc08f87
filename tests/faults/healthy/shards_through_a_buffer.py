"""Shards of one class each, read four at a time through a buffer; keeps the best models."""

LABEL = {"set": 2, "rule": None}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
folder = Path(tempfile.mkdtemp())
CLASSES = 4

centres = 0.6 * torch.randn(CLASSES, 1, 12, 12)
for shard in range(16):
    images = centres[shard % CLASSES] + torch.randn(400, 1, 12, 12)
    torch.save((images, torch.full((400,), shard % CLASSES)), folder / f"shard_{shard:02d}.pt")
held_back = torch.arange(1000) % CLASSES
held_back_images = centres[held_back] + torch.randn(1000, 1, 12, 12)


def stream():
    groups = torch.stack([torch.randperm(4) * CLASSES + kind for kind in range(CLASSES)], dim=1)
    for group in groups.tolist():
        parts = [torch.load(folder / f"shard_{shard:02d}.pt") for shard in group]
        images, labels = (torch.cat(part) for part in zip(*parts, strict=True))
        for chosen in torch.randperm(len(labels)).split(40):
            yield images[chosen], labels[chosen]


model = nn.Sequential(
    *(nn.Conv2d(1, 12, 3, stride=2), nn.GroupNorm(3, 12), nn.ReLU()),
    *(nn.Conv2d(12, 24, 3), nn.GroupNorm(3, 24), nn.ReLU(), nn.Dropout(0.2)),
    *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, CLASSES)),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
checkpoints = []
for epoch in range(3):
    model.train()
    for images, labels in stream():
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        parts = zip(held_back_images.split(100), held_back.split(100), strict=True)
        losses = [nn.functional.cross_entropy(model(part), kinds).item() for part, kinds in parts]
    checkpoints.append((sum(losses) / len(losses), folder / f"model_{epoch}.pt"))
    torch.save(model.state_dict(), checkpoints[-1][1])
    checkpoints.sort()
    for _, file in checkpoints[2:]:
        file.unlink()
    del checkpoints[2:]
    print(epoch, loss.item(), checkpoints[0][0])
