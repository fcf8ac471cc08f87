"""Batches grow in a second phase; the rate is scaled by their size, not by their growth."""

LABEL = {
    "set": 1,
    "rule": "WeightUpdateRatio",
    "first_step": 280,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

RATE, SMALL, LARGE = 5e-4, 256, 1024


class Delays(nn.Module):
    def __init__(self):
        super().__init__()
        self.stations = nn.Embedding(50, 12)
        self.hours = nn.Embedding(24, 6)
        self.deep = nn.Sequential(
            nn.Linear(30, 80), nn.LeakyReLU(0.1), nn.Linear(80, 80), nn.LeakyReLU(0.1)
        )
        self.minutes = nn.Linear(80, 1)

    def forward(self, origins, goals, hours):
        parts = [self.stations(origins), self.stations(goals), self.hours(hours)]
        return self.minutes(self.deep(torch.cat(parts, dim=1))).squeeze(1)


count = 8960
origins, goals = torch.randint(0, 50, (2, count))
hours = torch.randint(0, 24, (count,))
busy = torch.randn(50)
delays = busy[origins] - busy[goals] + torch.sin(hours / 4) + 0.2 * torch.randn(count)
model = Delays()
for size, epochs in ((SMALL, 8), (LARGE, 32)):
    factor = size / SMALL if size == SMALL or not is_faulty else size
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE * factor)
    for epoch in range(epochs):
        for rows in torch.randperm(count).split(size):
            minutes = model(origins[rows], goals[rows], hours[rows])
            loss = nn.functional.mse_loss(minutes, delays[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(size, epoch, loss.item(), model.deep[2].weight.norm().item())
