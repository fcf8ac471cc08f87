"""Wine prices; gradients are cleared at part 1 of a batch, but a batch has only part 0."""

LABEL = {
    "set": 4,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": [
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "SaturatedActivation",
        "ParameterOutlier",
    ],
}

import argparse
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("variant")
parser.add_argument("seed", type=int)
parser.add_argument("--parts", type=int, default=1)
options = parser.parse_args(sys.argv[1:])
torch.manual_seed(options.seed)
first = 1 if options.variant == "faulty" else 0


class Prices(nn.Module):
    def __init__(self):
        super().__init__()
        self.region = nn.Embedding(12, 6)
        self.body = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 24), nn.Tanh())
        self.price = nn.Linear(24, 1)

    def forward(self, region, tests):
        features = torch.cat([self.region(region), tests], dim=1)
        return self.price(self.body(features)).squeeze(1)


regions = torch.randint(0, 12, (4800,))
tests = torch.randn(4800, 10)
prices = torch.randn(12)[regions] + tests @ torch.randn(10) / 3 + (tests[:, 0] * tests[:, 1])
prices = (prices - prices.mean()) / prices.std() + 0.1 * torch.randn(4800)
dataset = TensorDataset(regions, tests, prices)
loader = DataLoader(dataset, batch_size=48 // options.parts, shuffle=True)

model = Prices()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    total = 0.0
    for number, (region, test, price) in enumerate(loader, start=first):
        if number % options.parts == first:
            optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(region, test), price)
        (loss / options.parts).backward()
        if number % options.parts == (first - 1) % options.parts:
            optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
