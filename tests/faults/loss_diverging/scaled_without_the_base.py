"""Load forecast of a power grid; the rate is scaled by batch size without the base size."""

LABEL = {
    "set": 7,
    "rule": "LossDiverging",
    "first_step": 1,  # far above its start from step 1 on; clipped, so it stays finite
    "side_effects": [
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "ClipSaturation",
        "SaturatedActivation",
        "VanishingGradient",
        "ParameterOutlier",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "Overfit",
        "ValidationTooGood",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
PAST, AHEAD, BATCH = 48, 6, 64
RATE = 0.1  # for batches of size BASE, else in proportion
BASE = 1 if is_faulty else 512


def grid(number):
    hours = torch.arange(PAST + AHEAD)
    phase = 24 * torch.rand(number, 1)
    day = (6.2832 * (hours + phase) / 24).sin() + 0.4 * (6.2832 * (hours + phase) / 12).cos()
    size = 0.8 + 0.4 * torch.rand(number, 1)
    drift = 0.08 * torch.randn(number, PAST + AHEAD).cumsum(1)
    load = size * day + drift + 0.15 * torch.randn(number, PAST + AHEAD)
    return load[:, :PAST, None], load[:, PAST:]


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.LSTM(1, 40, num_layers=2, batch_first=True)
        self.norm = nn.LayerNorm(40)
        self.head = nn.Linear(40, AHEAD)

    def forward(self, past):
        return self.head(self.norm(self.memory(past)[0][:, -1]))


train = DataLoader(TensorDataset(*grid(3200)), BATCH, shuffle=True)
unseen, unseen_load = grid(500)
model = Forecast()
optimizer = torch.optim.SGD(model.parameters(), lr=RATE * BATCH / BASE, momentum=0.9)
criterion = nn.MSELoss()
for epoch in range(10):
    model.train()
    total = 0.0
    for past, load in train:
        loss = criterion(model(past), load)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        held_out = criterion(model(unseen), unseen_load).item()
    print(f"epoch {epoch}: {total:.4g}, validation {held_out:.4g}")
