"""Progressive resizing: images grow during training, and steps take longer."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


def draw(size, count=24):
    kinds = torch.randint(0, 3, (count,))
    across = torch.linspace(-1, 1, 32)
    rows, columns = torch.meshgrid(across, across, indexing="ij")
    shapes = torch.stack(
        [torch.sin(6 * rows), torch.sin(6 * columns), torch.sin(6 * rows * columns)]
    )
    pictures = shapes[kinds].unsqueeze(1) + 0.7 * torch.randn(count, 1, 32, 32)
    return nn.functional.interpolate(pictures, size=(size, size), mode="area"), kinds


model = nn.Sequential(
    *(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU()),
    *(nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()),
    *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, 3)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for size in (8, 16, 32):
    for step in range(110):
        pictures, kinds = draw(size)
        loss = nn.functional.cross_entropy(model(pictures), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(size, loss.item())
