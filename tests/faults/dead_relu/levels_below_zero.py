"""Classify machines by noise; inputs are decibels below zero, initial weights are positive."""

LABEL = {
    "set": 2,
    "rule": "DeadRelu",
    "culprit": "relu",
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "WeightUpdateRatio",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "NoGradient",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

kinds, bands = 5, 40
shapes = torch.nn.functional.avg_pool1d(14 * torch.randn(kinds, 1, bands + 8), 9, 1).squeeze(1)


def listen(count):
    labels = torch.randint(0, kinds, (count,))
    levels = -32 + 2.5 * shapes[labels] + 11 * torch.randn(count, bands)
    return levels.clamp(-90, -1) / 30, labels


class Machines(nn.Module):
    def __init__(self):
        super().__init__()
        self.bands = nn.Linear(bands, 64)
        self.relu = nn.ReLU()
        self.mixed = nn.Linear(64, 32)
        self.gelu = nn.GELU()
        self.kind = nn.Linear(32, kinds)
        limit = 0.16
        if is_faulty:
            nn.init.uniform_(self.bands.weight, 0, limit)
        else:
            nn.init.uniform_(self.bands.weight, -limit, limit)
        nn.init.zeros_(self.bands.bias)

    def forward(self, levels):
        hidden = self.relu(self.bands(levels))
        return self.kind(self.gelu(self.mixed(hidden)))


model = Machines()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    levels, labels = listen(64)
    loss = nn.functional.cross_entropy(model(levels), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        print(f"step {step + 1} loss {loss.item():.3f}")
