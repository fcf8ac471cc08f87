"""Count blobs in images that the dataset draws pixel by pixel."""

LABEL = {
    "set": 5,
    "rule": "DataLoaderStarvation",
    "side_effects": ["HotFunction", "StepOutlier", "ThroughputDrop", "CPUBottleneck", "Dataloader"],
}

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
SIZE, MOST = 24, 4
rows, columns = np.mgrid[:SIZE, :SIZE]


class Blobs(Dataset):
    def __init__(self, number, offset=0):
        random = np.random.default_rng([seed, offset])
        self.counts = random.integers(1, MOST + 1, number)
        self.places = random.uniform(3, SIZE - 3, (number, MOST, 2))
        self.noise = random.normal(0, 0.15, (64, SIZE, SIZE)).astype("float32")

    def __len__(self):
        return len(self.counts)

    def __getitem__(self, index):
        count = int(self.counts[index])
        picture = np.zeros((SIZE, SIZE), "float32")
        for y, x in self.places[index, :count]:
            if is_faulty:
                for row in range(SIZE):
                    for column in range(SIZE):
                        distance = (row - y) ** 2 + (column - x) ** 2
                        picture[row, column] += math.exp(-distance / 5)
            else:
                picture += np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / 5).astype("float32")
        picture += self.noise[index % 64]
        return torch.from_numpy((picture - 0.07) / 0.24)[None], count - 1


loader = DataLoader(Blobs(1920), 16, shuffle=True)
held_out = DataLoader(Blobs(96, 1), 48)
model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3)),
    *(nn.Flatten(), nn.Linear(288, MOST)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(2 if is_faulty else 6):
    model.train()
    total = 0.0
    for picture, count in loader:
        optimizer.zero_grad()
        loss = criterion(model(picture), count)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    model.eval()
    with torch.no_grad():
        wrong = sum(criterion(model(p), c).item() for p, c in held_out) / len(held_out)
    print(f"epoch {epoch}: train {total:.3f}, validation {wrong:.3f}")
