"""Spectrograms are computed on every access, again in each epoch."""

LABEL = {
    "set": 1,
    "rule": "DataLoaderStarvation",
    "side_effects": ["Dataloader", "HotFunction"],
}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
draw = np.random.default_rng(seed)


class Sounds(Dataset):
    """Noisy tones of four pitches."""

    def __init__(self, count):
        self.labels = draw.integers(0, 4, count)
        times = np.arange(24000) / 8000
        self.sounds = []
        for label in self.labels:
            tone = np.sin(2 * np.pi * (400 + 300 * label + draw.normal(0, 30)) * times)
            self.sounds.append((0.3 * tone + draw.normal(0, 1, len(times))).astype(np.float32))
        self.ready = None if is_faulty else [self.spectrogram(index) for index in range(count)]

    def __len__(self):
        return len(self.labels)

    def spectrogram(self, index):
        frames = np.lib.stride_tricks.sliding_window_view(self.sounds[index], 256)[::64]
        power = np.abs(np.fft.rfft(frames * np.hanning(256), axis=1)) ** 2
        bands = np.log(power[:, :64].reshape(-1, 32, 2).mean(2) + 1e-3)
        return torch.tensor((bands - bands.mean()) / bands.std(), dtype=torch.float32)

    def __getitem__(self, index):
        picture = self.spectrogram(index) if self.ready is None else self.ready[index]
        return picture, int(self.labels[index])


model = nn.Sequential(
    *(nn.Unflatten(1, (1, -1)), nn.Conv2d(1, 8, 5, stride=3), nn.ReLU()),
    *(nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d((1, 4)), nn.Flatten()),
    nn.Linear(64, 4),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(Sounds(480), batch_size=16, shuffle=True)
for epoch in range(8):
    for pictures, labels in loader:
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
