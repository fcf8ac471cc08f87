"""Aerial images of fields in four bands; the infrared band is not standardized."""

LABEL = {
    "set": 4,
    "rule": "CheckInputImages",
    "alternatives": ["InputNotNormalized"],
    "side_effects": ["STARTS_BADLY", "ClassImbalance", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Fields(Dataset):
    reflectance = torch.tensor(
        [
            [60.0, 95, 50, 2900],
            [120.0, 110, 85, 1900],
            [70.0, 85, 60, 2300],
            [95.0, 120, 70, 2600],
        ]
    )

    def __init__(self, number):
        self.crop = torch.randint(0, 4, (number,))
        patches = self.reflectance[self.crop][:, :, None, None]
        rows = torch.sin(torch.arange(16) * (0.6 + 0.3 * self.crop[:, None]))[:, None, None, :]
        noise = torch.randn(number, 4, 16, 16) + torch.randn(number, 4, 1, 1)
        self.bands = patches * (1 + 0.1 * rows + 0.25 * noise)
        last = 3 if is_faulty else 4
        mean = self.bands.mean(dim=(0, 2, 3), keepdim=True)[:, :last]
        std = self.bands.std(dim=(0, 2, 3), keepdim=True)[:, :last]
        self.bands[:, :last] = (self.bands[:, :last] - mean) / std

    def __len__(self):
        return len(self.crop)

    def __getitem__(self, index):
        return self.bands[index], self.crop[index]


model = nn.Sequential(
    *(nn.Conv2d(4, 12, 3), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(12, 24, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
    *(nn.Flatten(), nn.Linear(96, 4)),
)
loader = DataLoader(Fields(2560), batch_size=32, shuffle=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    total, right = 0.0, 0
    for bands, crop in loader:
        scores = model(bands)
        loss = criterion(scores, crop)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += (scores.argmax(dim=1) == crop).sum().item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}, right {right / 2560:.3f}")
