"""Adapters that start at zero fit the network of one factory to another one."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
SENSORS, WIDTH, RANK = 20, 96, 4
law = torch.randn(SENSORS, 3) / SENSORS**0.5
drift = 0.25 * torch.randn(SENSORS, 3) / SENSORS**0.5


def factory(number, mixing):
    reading = torch.randn(number, SENSORS)
    yield_ = torch.tanh(2 * reading @ mixing).sum(1, keepdim=True)
    return reading, yield_ + 0.15 * torch.randn(number, 1)


class Adapted(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Linear(layer.in_features, RANK, bias=False)
        self.up = nn.Linear(RANK, layer.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, signal):
        return self.layer(signal) + self.up(self.down(signal))


def fit(model, data, test, rate, epochs):
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=rate)
    criterion = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for reading, result in data:
            optimizer.zero_grad()
            loss = criterion(model(reading), result)
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            tested = criterion(model(test[0]), test[1]).item()
            print(f"epoch {epoch}: {total / len(data):.4f}, test {tested:.4f}")


model = nn.Sequential(
    nn.Linear(SENSORS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
)
fit(
    model,
    DataLoader(TensorDataset(*factory(6400, law)), 64, shuffle=True),
    factory(800, law),
    1e-3,
    5,
)
for position in (0, 2, 4):
    model[position] = Adapted(model[position])
other = law + drift
fit(
    model,
    DataLoader(TensorDataset(*factory(6400, other)), 64, shuffle=True),
    factory(800, other),
    2e-3,
    6,
)
