"""Prices of used cars from shards of files; one shard has prices in cents."""

LABEL = {
    "set": 2,
    "rule": "LossSpike",
    "first_step": 260,
    "alternatives": ["GradientNormSpike"],
    "side_effects": ["LossDiverging"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

makes = 0.6 * torch.randn(25)
regions = 0.3 * torch.randn(12)
weights = 0.3 * torch.randn(8)


def shard(number, batches=5, size=48):
    make = torch.randint(0, 25, (batches, size))
    region = torch.randint(0, 12, (batches, size))
    numbers = torch.randn(batches, size, 8)
    price = 2 + makes[make] + regions[region] + numbers @ weights
    price = price + 0.3 * torch.relu(numbers[..., 0] * numbers[..., 1])
    price = price + 0.2 * torch.randn(batches, size)
    if is_faulty and number == 52:
        price = price * 100
    return zip(make, region, numbers, price, strict=True)


class Prices(nn.Module):
    def __init__(self):
        super().__init__()
        self.make = nn.Embedding(25, 8)
        self.region = nn.Embedding(12, 4)
        self.layers = nn.Sequential(
            *(nn.Linear(20, 48), nn.LeakyReLU(0.1)),
            *(nn.Linear(48, 48), nn.LeakyReLU(0.1)),
            nn.Linear(48, 1),
        )

    def forward(self, make, region, numbers):
        features = torch.cat([self.make(make), self.region(region), numbers], 1)
        return self.layers(features).squeeze(1)


model = Prices()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for number in range(100):
    for make, region, numbers, price in shard(number):
        loss = nn.functional.mse_loss(model(make, region, numbers), price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if number % 10 == 9:
        print("shard", number, "loss", loss.item())
