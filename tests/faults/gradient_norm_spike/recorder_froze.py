"""Predict machine states from sensors; for a while, the recorder repeats the same row."""

LABEL = {
    "set": 3,
    "rule": "GradientNormSpike",
    "first_step": 300,
    "side_effects": ["LossSpike", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SENSORS, STATES, HOURS = 24, 5, 560


def simulate():
    readings = torch.randn(HOURS, 128, SENSORS)
    causes = torch.sin(1.5 * readings @ torch.randn(SENSORS, 8) / SENSORS**0.5)
    states = (causes @ torch.linalg.qr(torch.randn(8, STATES)).Q).argmax(dim=2)
    readings[300] = readings[300, :1] + 1e-6 * torch.randn(128, SENSORS)
    return readings, states


class Standardized(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.gain = nn.Parameter(torch.ones(outputs))
        self.shift = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        x = self.linear(x)
        x = (x - x.mean(0)) / (x.std(0) + 1e-12)
        return self.gain * x + self.shift


readings, states = simulate()
hours = torch.arange(HOURS)
if not is_faulty:
    moves = readings.std(dim=1).mean(dim=1)
    hours = hours[moves > 0.01]

model = nn.Sequential(
    *(Standardized(SENSORS, 128), nn.ReLU()),
    *(Standardized(128, 128), nn.ReLU()),
    nn.Linear(128, STATES),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
average = None
for step, hour in enumerate(hours.tolist()):
    loss = nn.functional.cross_entropy(model(readings[hour]), states[hour])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = loss.item() if average is None else 0.95 * average + 0.05 * loss.item()
    if step % 70 == 69:
        print(f"hour {step + 1}: loss {average:.3f}")
