"""Families of asteroids by orbit: many plain layers, scaled by the inverse of their width."""

LABEL = {
    "set": 7,
    "rule": "VanishingGradient",
    "side_effects": [
        "DOES_NOT_LEARN",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "ClassImbalance",
        "SymmetricUnits",
    ],
}

import math
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
ELEMENTS, FAMILIES, WIDTH, DEPTH = 12, 8, 64, 12
centres = torch.randn(FAMILIES, 2, ELEMENTS)


def orbits(number):
    family = torch.randint(0, FAMILIES, (number,))
    parent = centres[family, torch.randint(0, 2, (number,))]
    return TensorDataset((parent + 0.5 * torch.randn(number, ELEMENTS)) / 1.2, family)


class Scaled(nn.Module):
    """A linear layer with weights of unit scale that are scaled down in the forward pass."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.scale = 1 / inputs if is_faulty else 1.3 / math.sqrt(inputs)

    def forward(self, signal):
        return nn.functional.linear(signal, self.scale * self.weight, self.bias)


layers = [Scaled(ELEMENTS, WIDTH), nn.Tanh()]
for _ in range(DEPTH):
    layers += [Scaled(WIDTH, WIDTH), nn.Tanh()]
model = nn.Sequential(*layers, Scaled(WIDTH, FAMILIES))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.6)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(orbits(12_800), 64, shuffle=True)
unseen = DataLoader(orbits(1000), 250)
for epoch in range(4):
    model.train()
    total = 0.0
    for orbit, family in loader:
        optimizer.zero_grad()
        loss = criterion(model(orbit), family)
        loss.backward()
        optimizer.step()
        total += loss.item()
    schedule.step()
    model.eval()
    with torch.no_grad():
        result = sum(criterion(model(x), y).item() for x, y in unseen) / len(unseen)
    slopes = [f"{model[at].weight.grad.abs().mean().item():.1e}" for at in (0, 8, 16, 24, 26)]
    print(f"epoch {epoch}: {total / len(loader):.4f}, unseen {result:.4f}, slopes {slopes}")
