"""Galaxy images from a compressed archive that is opened again for every image."""

LABEL = {
    "set": 3,
    "rule": "DataLoaderStarvation",
    "side_effects": ["Dataloader", "HotFunction"],
}

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
path = Path(tempfile.mkdtemp()) / "galaxies.npz"


def write(number=480, size=14):
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 3, number)
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    turn = random.uniform(0, np.pi, (number, 1, 1))
    along = x * np.cos(turn) + y * np.sin(turn)
    across = y * np.cos(turn) - x * np.sin(turn)
    flat = np.array([1.0, 2.5, 6.0])[kinds][:, None, None]
    pictures = 3 * np.exp(-3 * (along**2 + flat * across**2)) - 0.7
    pictures += random.normal(0, 0.7, pictures.shape)
    np.savez_compressed(path, pictures=pictures.astype(np.float32), kinds=kinds)


class Galaxies(Dataset):
    def __init__(self):
        with np.load(path) as archive:
            self.number = len(archive["kinds"])
            self.kept = None if is_faulty else {name: archive[name] for name in archive.files}

    def __len__(self):
        return self.number

    def __getitem__(self, index):
        archive = np.load(path) if self.kept is None else self.kept
        picture = torch.from_numpy(archive["pictures"][index]).unsqueeze(0)
        return picture, int(archive["kinds"][index])


write()
loader = DataLoader(Galaxies(), batch_size=16, shuffle=True)
model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Linear(288, 3)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
for epoch in range(5):
    total = 0.0
    for picture, kind in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(picture), kind)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
