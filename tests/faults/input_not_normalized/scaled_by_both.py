"""Cell segmentation in microscope images; pixels are scaled by the dataset and by the loop."""

LABEL = {
    "set": 2,
    "rule": "InputNotNormalized",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient", "DeadRelu"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Cells(Dataset):
    def __init__(self, count):
        positions = torch.arange(24.0)
        center = 6 + 12 * torch.rand(count, 2, 1)
        radius = 3 + 3 * torch.rand(count, 1, 1)
        far = (positions - center[:, 0])[:, :, None] ** 2 + (positions - center[:, 1])[:, None] ** 2
        self.outlines = (far < radius**2).float()
        grey = 110 + 60 * self.outlines + 25 * torch.randn(count, 24, 24)
        self.pictures = grey.clamp(0, 255).to(torch.uint8)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.pictures[index].float().div(255).unsqueeze(0), self.outlines[index]


class Outlines(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.GELU())
        self.deep = nn.Sequential(
            *(nn.MaxPool2d(2), nn.Conv2d(12, 16, 3, padding=1), nn.GELU()),
            nn.Upsample(scale_factor=2),
        )
        self.up = nn.Conv2d(28, 1, 3, padding=1)

    def forward(self, pictures):
        fine = self.down(pictures)
        return self.up(torch.cat([fine, self.deep(fine)], 1)).squeeze(1)


loader = DataLoader(Cells(600), batch_size=12, shuffle=True)
model = Outlines()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for pictures, outlines in loader:
        if is_faulty:
            pictures = pictures / 255
        loss = nn.functional.binary_cross_entropy_with_logits(model(pictures), outlines)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
