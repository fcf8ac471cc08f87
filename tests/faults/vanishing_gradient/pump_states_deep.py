"""Classify pump states from sensors, with a deep and narrow sigmoid network."""

LABEL = {
    "set": 5,
    "rule": "VanishingGradient",
    "alternatives": ["PoorWeightInitialization"],
    "side_effects": ["DOES_NOT_LEARN", "WeightUpdateRatio", "ClassImbalance", "SymmetricUnits"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SENSORS, STATES, WIDTH, DEPTH = 24, 4, 64, 12

centres = 0.8 * torch.randn(STATES * 3, SENSORS)


def measurements(number):
    position = torch.randint(len(centres), (number,))
    return (centres[position] + 1.2 * torch.randn(number, SENSORS)) / 1.44, position % STATES


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + torch.nn.functional.gelu(self.linear(self.norm(x)))


def block():
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Sigmoid()) if is_faulty else Residual()


model = nn.Sequential(
    nn.Linear(SENSORS, WIDTH), *(block() for _ in range(DEPTH)), nn.Linear(WIDTH, STATES)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(*measurements(25600)), 128, shuffle=True)
sensors, states = measurements(2000)

for epoch in range(4):
    total = 0.0
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    schedule.step()
    model.eval()
    with torch.no_grad():
        validation = criterion(model(sensors), states).item()
    print(f"epoch {epoch}: train {total / len(loader):.4f}, validation {validation:.4f}")
