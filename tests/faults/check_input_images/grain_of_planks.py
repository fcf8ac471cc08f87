"""Predict the grain direction from color photos of planks; pixels are not scaled to 0 to 1."""

LABEL = {
    "set": 7,
    "rule": "CheckInputImages",
    "alternatives": ["InputNotNormalized"],
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
SIDE, BATCH = 32, 40
MEAN = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
SPREAD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]


def photograph(number):
    """Return integer images from 0 to 255, like those of a camera, and the grain direction."""
    angle = 3.1416 * torch.rand(number, 1, 1)
    across = torch.linspace(-1, 1, SIDE)[None, :, None]
    down = torch.linspace(-1, 1, SIDE)[None, None, :]
    along = across * angle.cos() + down * angle.sin()
    rings = (6 + 6 * torch.rand(number, 1, 1)) * along + 6.28 * torch.rand(number, 1, 1)
    light = (rings + 0.5 * torch.randn(number, 1, 1) * along.square()).sin()
    wood = torch.tensor([150.0, 112.0, 80.0])[:, None, None]
    spread = torch.tensor([55.0, 50.0, 45.0])[:, None, None]
    picture = wood + spread * (0.8 * light[:, None] + 0.6 * torch.randn(number, 3, SIDE, SIDE))
    direction = torch.cat([(2 * angle).cos(), (2 * angle).sin()], 1).squeeze(2)
    return picture.round().clamp(0, 255).byte(), direction


def prepare(pictures):
    pictures = pictures.float()
    if not is_faulty:
        pictures = pictures / 255
    return (pictures - MEAN) / SPREAD


pictures, directions = photograph(2000)
unseen, unseen_directions = photograph(400)
model = nn.Sequential(
    *(nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.SiLU()),
    *(nn.Conv2d(16, 24, 3, stride=2, padding=1), nn.SiLU()),
    *(nn.Conv2d(24, 32, 3, padding=1), nn.SiLU()),
    *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 2)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
criterion = nn.MSELoss()
for epoch in range(7):
    model.train()
    total, batches = 0.0, torch.randperm(len(pictures)).split(BATCH)
    for rows in batches:
        loss = criterion(model(prepare(pictures[rows])), directions[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(batches)
    model.eval()
    with torch.no_grad():
        held_out = criterion(model(prepare(unseen)), unseen_directions).item()
    print(f"epoch {epoch}: {total:.4f}, validation {held_out:.4f}")
