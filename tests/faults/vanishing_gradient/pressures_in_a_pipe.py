"""Locate leaks by the pressures along a pipe, with many narrow sigmoid layers."""

LABEL = {
    "set": 6,
    "rule": "VanishingGradient",
    "side_effects": [
        "DOES_NOT_LEARN",
        "ClassImbalance",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "LabelsUnrelated",
        "SymmetricUnits",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
GAUGES, PLACES, WIDTH, DEPTH = 32, 6, 48, 9


def measured(number):
    place = torch.randint(0, PLACES, (number,))
    position = torch.linspace(0, 1, GAUGES)
    leak = (place[:, None] + torch.rand(number, 1)) / PLACES
    size = 0.6 + torch.rand(number, 1)
    pressure = 1 - position - size * (position - leak).clamp(min=0)
    pressure = pressure + 0.06 * torch.randn(number, GAUGES) + 0.3 * torch.randn(number, 1)
    return (pressure - 0.35) / 0.55, place


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, signal):
        if is_faulty:
            return torch.sigmoid(self.linear(signal))
        return signal + 0.3 * torch.tanh(self.linear(signal))


model = nn.Sequential(
    nn.Linear(GAUGES, WIDTH), *(Layer() for _ in range(DEPTH)), nn.Linear(WIDTH, PLACES)
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=1000)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(*measured(8000)), 40, shuffle=True)
test_pressure, test_place = measured(1000)
for epoch in range(5):
    total = 0.0
    for step, (pressure, place) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = criterion(model(pressure), place)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 100 == 0:
            first, last = (model[layer].weight.grad.abs().mean().item() for layer in (0, -1))
            print(f"epoch {epoch}, {step}: {total / 100:.4f}, gradients {first:.1e} {last:.1e}")
            total = 0.0
    with torch.no_grad():
        print(f"test {criterion(model(test_pressure), test_place).item():.4f}")
