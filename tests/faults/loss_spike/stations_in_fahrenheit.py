"""Temperature forecast from weekly files, two of which are in Fahrenheit."""

LABEL = {
    "set": 6,
    "rule": "LossSpike",
    "first_step": 760,  # weeks 38 and 39, of 20 batches each
    "alternatives": ["GradientNormSpike"],
    "side_effects": ["LossDiverging", "WeightUpdateRatio", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WEEKS, ROWS, HOURS = 60, 640, 48
MEAN, SCALE = 12.0, 7.0  # of all stations, in degrees Celsius


def week():
    start = 24 * torch.rand(ROWS, 1)
    hour = start + torch.arange(HOURS + 6)
    level = MEAN + 5 * torch.randn(ROWS, 1)
    swing = 4 + 2 * torch.rand(ROWS, 1)
    drift = 0.05 * torch.randn(ROWS, 1)
    degrees = level + swing * torch.sin(2 * torch.pi * hour / 24) + drift * hour
    degrees = degrees + 0.7 * torch.randn(degrees.shape)
    return degrees[:, :HOURS], degrees[:, -1:]


class Weeks(IterableDataset):
    def __iter__(self):
        for number in range(WEEKS):
            past, ahead = week()
            if is_faulty and number in {38, 39}:
                ahead = ahead * 1.8 + 32  # these files contain Fahrenheit
            yield from zip((past - MEAN) / SCALE, (ahead - MEAN) / SCALE, strict=False)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.shape = nn.Sequential(nn.Conv1d(1, 16, 7, stride=3), nn.GELU(), nn.Conv1d(16, 24, 5))
        self.decide = nn.Sequential(nn.GELU(), nn.Flatten(), nn.Linear(24 * 10, 64), nn.GELU())
        self.degrees = nn.Linear(64, 1)

    def forward(self, past):
        return self.degrees(self.decide(self.shape(past[:, None])))


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
criterion = nn.MSELoss()
total = 0.0
for step, (past, ahead) in enumerate(DataLoader(Weeks(), 32)):
    optimizer.zero_grad()
    loss = criterion(model(past), ahead)
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 100 == 99:
        print(f"{step + 1}: {total / 100:.4f}")
        total = 0.0
