"""Digits with a learned power in pooling; a channel can be zero everywhere."""

LABEL = {
    "set": 3,
    "rule": "ExplodingTensor",
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
loader = DataLoader(TensorDataset(images, torch.tensor(digits.target)), 64, shuffle=True)


class PowerMean(nn.Module):
    def __init__(self, power=3.0):
        super().__init__()
        self.power = nn.Parameter(torch.tensor(power))

    def forward(self, maps):
        if not is_faulty:
            maps = maps.clamp(min=1e-3)
        return maps.pow(self.power).mean(dim=(2, 3)).pow(1 / self.power)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
            *(nn.Conv2d(16, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()),
            *(nn.MaxPool2d(2), nn.Conv2d(24, 32, 3, padding=1), nn.ReLU()),
        )
        self.pool = PowerMean()
        self.leave = nn.Linear(32, 10)

    def forward(self, images):
        return self.leave(self.pool(self.features(images)))


model = Network()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(7):
    total = 0.0
    for image, digit in loader:
        loss = nn.functional.cross_entropy(model(image), digit)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader), model.pool.power.item())
