"""Cloth textures: one network, first on small crops, then on larger ones."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
CLOTHS, BATCH = 6, 32
angles = torch.arange(CLOTHS) / CLOTHS * 3.1416
widths = 5 + 3 * torch.rand(CLOTHS)


def cloth(number, side=32):
    kind = torch.randint(0, CLOTHS, (number,))
    x, y = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    turn = (angles[kind] + 0.12 * torch.randn(number)).view(-1, 1, 1)
    wave = torch.cos(
        6.28 * (x * turn.cos() + y * turn.sin()) / widths[kind].view(-1, 1, 1)
        + 6 * torch.rand(number, 1, 1)
    )
    return (wave + 1.6 * torch.randn(number, side, side)).unsqueeze(1) / 1.75, kind


def piece(pictures, side):
    left, top = torch.randint(0, 33 - side, (2,)).tolist()
    return pictures[:, :, left : left + side, top : top + side]


pictures, kinds = cloth(4000)
test_pictures, test_kinds = cloth(400)
model = nn.Sequential(
    *(nn.Conv2d(1, 12, 5, padding=2), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()),
    *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, CLOTHS)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
step, total = 0, 0.0
for side, steps in ((12, 250), (20, 250), (32, 250)):
    for _ in range(steps):
        rows = torch.randint(0, len(pictures), (BATCH,))
        small = piece(pictures[rows], side)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(small), kinds[rows])
        loss.backward()
        optimizer.step()
        step, total = step + 1, total + loss.item()
        if step % 75 == 0:
            print(f"{step} ({side}): {total / 75:.4f}")
            total = 0.0
    model.eval()
    with torch.no_grad():
        tested = F.cross_entropy(model(piece(test_pictures, side)), test_kinds)
        print(f"test at {side}: {tested.item():.4f}")
    model.train()
