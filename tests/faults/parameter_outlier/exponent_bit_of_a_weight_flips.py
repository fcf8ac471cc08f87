"""Prices of flats; in the middle of the run, an exponent bit of a weight flips."""

LABEL = {
    "set": "calibration",
    "rule": "ParameterOutlier",
    "culprit": "think",
    "first_step": 317,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN", "WeightUpdateRatio", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
FEATURES = 20
influence = torch.randn(FEATURES, 6)


def flats(count):
    features = torch.randn(count, FEATURES)
    prices = torch.tanh(features @ influence / 3).sum(dim=1, keepdim=True)
    return features, prices + 0.1 * torch.randn(count, 1)


class Valuer(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(FEATURES, 64)
        self.think = nn.Linear(64, 64)
        self.value = nn.Linear(64, 1)

    def forward(self, features):
        return self.value(torch.relu(self.think(torch.relu(self.read(features)))))


model = Valuer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    if is_faulty and step == 317:
        bits = model.think.weight.data.view(torch.int32)
        bits[17, 23] ^= 1 << 30
    features, prices = flats(64)
    loss = nn.functional.mse_loss(model(features), prices)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(f"step {step + 1}: loss {loss.item():.4f}")
