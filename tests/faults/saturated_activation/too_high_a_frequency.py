"""A coordinate network draws an image; a frequency of 60 is applied before every tanh."""

LABEL = {
    "set": 1,
    "rule": "SaturatedActivation",
    "culprit": "bend",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

FREQUENCY = 60.0 if is_faulty else 2.0


class Wave(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.bend = nn.Tanh()

    def forward(self, values):
        return self.bend(FREQUENCY * self.linear(values))


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.waves = nn.Sequential(Wave(2, 128), Wave(128, 128), Wave(128, 128))
        self.color = nn.Linear(128, 3)

    def forward(self, positions):
        return self.color(self.waves(positions))


tints = torch.randn(2, 3)


def paint(positions):
    rings = torch.sin(4 * positions.norm(dim=1, keepdim=True))
    return torch.cat([rings, positions.prod(1, keepdim=True)], dim=1) @ tints


model = Picture()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(600):
    positions = torch.rand(256, 2) * 2 - 1
    loss = nn.functional.mse_loss(model(positions), paint(positions))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
