"""Classify land use in aerial tiles from a network mount, which stalls."""

LABEL = {
    "set": 6,
    "rule": "DataLoaderStall",
    "first_step": 249,  # reads no. 8,000 and 14,000 stall, at 32 reads per step
    "side_effects": ["StepOutlier", "Dataloader", "DataLoaderStarvation", "HotFunction"],
}

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
random = np.random.default_rng(seed)
SIDE, KINDS = 24, 5


def tiles(number):
    kind = random.permutation(np.arange(number) % KINDS)
    across, down = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    angle = (np.pi * kind / KINDS + 0.12 * random.standard_normal(number))[:, None, None]
    wave = np.cos(angle) * across + np.sin(angle) * down
    stripes = np.sin(0.9 * wave + 6.3 * random.random((number, 1, 1)))
    tint = random.standard_normal((number, 3, 1, 1)) * 0.3
    noise = 1.6 * random.standard_normal((number, 3, SIDE, SIDE))
    picture = 0.8 * stripes[:, None] * (1 + tint) + noise
    return (picture / 1.7).astype(np.float32), kind


class Mount:
    """Files of a server that disconnects clients after a number of reads."""

    def __init__(self, path, shape):
        self.file = np.memmap(path, dtype=np.float32, mode="r", shape=shape)
        self.reads = 0

    def read(self, row):
        self.reads += 1
        if is_faulty and self.reads in {8000, 14000}:
            time.sleep(2.4)
        return torch.from_numpy(np.array(self.file[row]))


class Tiles(Dataset):
    def __init__(self, mount, kinds):
        self.mount, self.kinds = mount, torch.from_numpy(kinds)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, row):
        return self.mount.read(row), self.kinds[row]


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "tiles.bin"
    pictures, kinds = tiles(6400)
    pictures.tofile(path)
    loader = DataLoader(Tiles(Mount(path, pictures.shape), kinds), 32, shuffle=True)
    unseen, wanted = (torch.from_numpy(array) for array in tiles(500))
    model = nn.Sequential(
        *(nn.Conv2d(3, 10, 5, stride=2, padding=2), nn.BatchNorm2d(10), nn.ReLU()),
        *(nn.Conv2d(10, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(24 * 36, KINDS)),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3, eta_min=5e-5)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        model.train()
        for step, (picture, kind) in enumerate(loader):
            loss = criterion(model(picture), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                print(f"epoch {epoch}, step {step}: {loss.item():.3f}")
        schedule.step()
        model.eval()
        with torch.no_grad():
            scores = model(unseen)
            right = (scores.argmax(1) == wanted).float().mean()
        print(f"epoch {epoch}: unseen {criterion(scores, wanted):.3f}, {right:.0%} right")
