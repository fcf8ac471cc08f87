"""Demand forecast of shops from streamed files; one file has targets in another unit."""

LABEL = {
    "set": 5,
    "rule": "LossSpike",
    "first_step": 371,
    "alternatives": ["GradientNormSpike"],
    "side_effects": ["ClipSaturation", "LossDiverging", "UnshuffledData"],
}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
FILES, ROWS, DAYS = 60, 640, 28


class Files(IterableDataset):
    def __iter__(self):
        for number in range(FILES):
            random = np.random.default_rng([seed, number])
            level = random.normal(0, 0.6, (ROWS, 1))
            season = random.uniform(0, 7, (ROWS, 1))
            swing = random.uniform(0.4, 1.2, (ROWS, 1))
            days = np.arange(DAYS + 1)[None]
            series = level + swing * np.sin((days + season) * 2 * np.pi / 7)
            series = series + 0.15 * random.normal(size=series.shape)
            history, target = series[:, :-1], series[:, -1]
            if is_faulty and number == 37:
                target = target * 100  # cents
            for row in range(ROWS):
                yield history[row].astype("float32")[:, None], np.float32(target[row])


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(1, 32, batch_first=True)
        self.head = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, history):
        states, _ = self.memory(history)
        return self.head(states[:, -1]).squeeze(1)


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()
mean = 0.0
for step, (history, target) in enumerate(DataLoader(Files(), 64), 1):
    optimizer.zero_grad()
    loss = criterion(model(history), target)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    mean += loss.item() / 30
    if step % 30 == 0:
        print(f"step {step}: {mean:.4f}")
        mean = 0.0
