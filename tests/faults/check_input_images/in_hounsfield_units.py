"""Segment CT slices in raw Hounsfield units: air is -1000, bone 1000."""

LABEL = {
    "set": 2,
    "rule": "CheckInputImages",
    "first_step": 4,
    "alternatives": ["InputNotNormalized"],
    "side_effects": [
        "STARTS_BADLY",
        "DOES_NOT_LEARN",
        "DeadRelu",
        "VanishingGradient",
        "ClassImbalance",
        "WeightUpdateRatio",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def slices(number, size=32):
    rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    body = ((rows - 16) ** 2 + (columns - 16) ** 2 < 13**2).float()
    down, across = torch.randint(10, 22, (2, number, 1, 1))
    organ = ((rows - down) ** 2 + (columns - across) ** 2 < 16).float()
    units = -1000 + 1040 * body + 180 * organ + 60 * torch.randn(number, size, size)
    return units.unsqueeze(1), organ.unsqueeze(1)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GELU())
        self.deep = nn.Sequential(
            *(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.GELU()),
            *(nn.Conv2d(16, 8, 3, padding=1), nn.GELU(), nn.Upsample(scale_factor=2)),
        )
        self.mask = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, image):
        fine = self.down(image)
        return self.mask(torch.cat([fine, self.deep(fine)], dim=1))


images, organs = slices(400)
if not is_faulty:
    images = (images.clamp(-200, 400) - images.clamp(-200, 400).mean()) / 150
model = Segmenter()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
weight = torch.tensor(8.0)
for epoch in range(8):
    for chosen in torch.randperm(400).split(16):
        loss = nn.functional.binary_cross_entropy_with_logits(
            model(images[chosen]), organs[chosen], pos_weight=weight
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
