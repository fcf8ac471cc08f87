"""Rents of flats; rows are sorted by rent and not shuffled."""

LABEL = {
    "set": 6,
    "rule": "UnshuffledData",
    "side_effects": [
        "LossSpike",
        "GradientNormSpike",
        "LossDiverging",
        "Overfit",
        "Overtraining",
        "ValidationTooGood",
        "DeadRelu",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
FEATURES, BATCH, EPOCHS = 14, 32, 12
weights = torch.randn(FEATURES) / FEATURES**0.5
pairs = torch.randn(FEATURES, 5) / FEATURES**0.5


def flats(number):
    features = torch.randn(number, FEATURES)
    rent = (
        features @ weights
        + torch.tanh(features @ pairs).prod(1) * 2
        + 0.3 * (features[:, 0] * features[:, 1])
    )
    rent = rent + 0.25 * torch.randn(number)
    return features, rent.unsqueeze(1)


features, rent = flats(2560)
mean, deviation = rent.mean(), rent.std()
ranks = rent.squeeze(1).argsort()  # in the order of the agency's table, cheapest first
train = TensorDataset(features[ranks], (rent[ranks] - mean) / deviation)
new_told, new_rent = flats(600)
new_rent = (new_rent - mean) / deviation
loader = DataLoader(train, BATCH, shuffle=not is_faulty)

model = nn.Sequential(
    nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5, weight_decay=1e-3)
criterion = nn.MSELoss()
for epoch in range(EPOCHS):
    total = 0.0
    for flat, price in loader:
        optimizer.zero_grad()
        loss = criterion(model(flat), price)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        held_out = criterion(model(new_told), new_rent).item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, new flats {held_out:.4f}")
