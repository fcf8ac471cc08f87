"""A dataset caches decoded images: memory grows during the first epoch only."""

LABEL = {"set": 1, "rule": None}

import sys
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

seed = int(sys.argv[2])
torch.manual_seed(seed)
draw = np.random.default_rng(seed)


class Pictures(Dataset):
    def __init__(self, count):
        self.kept = {}
        self.labels = draw.integers(0, 3, count)
        self.packed = []
        for label in self.labels:
            picture = np.zeros((1, 128, 128), np.uint8)
            top, left = draw.integers(0, 80, 2)
            picture[:, top : top + 12 + 16 * label, left : left + 12 + 16 * label] = 200
            self.packed.append(zlib.compress(picture.tobytes(), 1))

    def __len__(self):
        return len(self.packed)

    def __getitem__(self, index):
        if index not in self.kept:
            pixels = np.frombuffer(zlib.decompress(self.packed[index]), np.uint8)
            picture = torch.tensor(pixels, dtype=torch.float32).view(1, 128, 128)
            self.kept[index] = (picture / 255 - 0.1) / 0.3
        return self.kept[index], int(self.labels[index])


model = nn.Sequential(
    *(nn.Conv2d(1, 8, 7, stride=3), nn.ELU(), nn.Conv2d(8, 16, 3, stride=2), nn.ELU()),
    *(nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Linear(256, 3)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(Pictures(3600), batch_size=24, shuffle=True)
for epoch in range(3):
    for pictures, labels in loader:
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), len(loader.dataset.kept))
