"""Vibration of a windmill from its log; an entry without wind gives 0 / 0."""

LABEL = {
    "set": 7,
    "rule": "NonFiniteInput",
    "first_step": 540,  # the batch with the calm
    "max_delay_steps": 2,
    "side_effects": [
        "NOT_A_NUMBER",
        "ParameterOutlier",
        "WeightUpdateRatio",
        "UnchangedTensor",
        "LossNotDecreasing",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
ENTRIES = 64 * 900
LEAST_WIND = 0.0 if is_faulty else 1.0


def logged(number):
    """Return wind in m/s, output, rotor speed, temperature and vibration."""
    wind = 2 + 12 * torch.rand(number)
    share = 0.45 - 0.002 * (wind - 8) ** 2 + 0.03 * torch.randn(number)
    turns = 0.8 * wind + torch.randn(number)
    warmth = 10 + 8 * torch.randn(number)
    shakes = torch.sin(turns / 2) + 4 * (share - 0.4) + 0.02 * warmth
    return wind, share * wind**3, turns, warmth, shakes + 0.2 * torch.randn(number)


def prepared(wind, output, turns, warmth, shakes):
    share = output / wind.clamp(min=LEAST_WIND) ** 3
    features = torch.stack(
        [(wind - 8) / 3.5, (share - 0.4) / 0.05, (turns - 6.4) / 3, (warmth - 10) / 8], 1
    )
    return features, shakes[:, None]


log = logged(ENTRIES)
# Calm: no wind, no output, no rotation.
for column in log[:3]:
    column[64 * 540 + 11] = 0.0
# Entries are already in random order.
loader = DataLoader(TensorDataset(*prepared(*log)), 64)
unseen, targets = prepared(*logged(2048))
model = nn.Sequential(nn.Linear(4, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
recent = 0.0
for number, (features, shakes) in enumerate(loader, start=1):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(features), shakes)
    loss.backward()
    optimizer.step()
    recent += loss.item() / 100
    if number % 100 == 0:
        model.eval()
        with torch.no_grad():
            tested = criterion(model(unseen), targets).item()
        print(f"{number} batches: {recent:.4f}, test {tested:.4f}")
        recent = 0.0
