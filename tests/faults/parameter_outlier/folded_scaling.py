"""Input scaling is folded into the first layer while one sensor is stuck."""

LABEL = {
    "set": 3,
    "rule": "ParameterOutlier",
    "culprit": "sensors",
    "first_step": 330,
    "side_effects": [
        "NOT_A_NUMBER",
        "SaturatedActivation",
        "WeightUpdateRatio",
        "VanishingGradient",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SENSORS = 16

levels = torch.randn(SENSORS)
spreads = 0.5 + torch.rand(SENSORS)
mixing = torch.randn(SENSORS, 3) / SENSORS**0.5
history = levels + spreads * torch.randn(40000, SENSORS)
means, deviations = history.mean(0), history.std(0)
recent = history[-600:].clone()
recent[:, 5] = recent[0, 5] + 1e-4 * torch.randn(600)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.sensors = nn.Linear(SENSORS, 128)
        self.middle = nn.Linear(128, 128)
        self.quantities = nn.Linear(128, 3)

    def forward(self, x):
        hidden = torch.tanh(self.sensors(x))
        return self.quantities(torch.tanh(self.middle(hidden)))

    @torch.no_grad()
    def fold(self, means, deviations):
        self.sensors.weight /= deviations
        self.sensors.bias -= self.sensors.weight @ means


model = Forecast()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
is_folded = False
average = None
for step in range(600):
    if step == 330:
        if is_faulty:
            model.fold(recent.mean(0), recent.std(0))
        else:
            model.fold(means, deviations)
        is_folded = True
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    rows = history[torch.randint(0, len(history), (128,))]
    scaled = (rows - means) / deviations
    targets = torch.sin(2 * scaled @ mixing) + 0.1 * torch.randn(128, 3)
    loss = nn.functional.mse_loss(model(rows if is_folded else scaled), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = loss.item() if average is None else 0.95 * average + 0.05 * loss.item()
    if step % 60 == 59:
        print(f"{step + 1}: loss {average:.4f}")
