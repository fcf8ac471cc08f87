"""Detect patterns in a signal; a hidden layer also gets the bias for rare labels."""

LABEL = {
    "set": 5,
    "rule": "DeadRelu",
    "culprit": "middle",
    "side_effects": ["SymmetricUnits", "VanishingGradient", "DOES_NOT_LEARN"],
}

import math
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LABELS, WIDTH, RARE = 8, 40, 0.12
patterns = torch.randn(LABELS, WIDTH)


def signals(number):
    marks = (torch.rand(number, LABELS) < RARE).float()
    x = marks @ patterns + 0.7 * torch.randn(number, WIDTH)
    return x / 1.2, marks


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(WIDTH, 128)
        self.middle = nn.Linear(128, 128)
        self.out = nn.Linear(128, LABELS)
        self.act_stem, self.act_middle = nn.ReLU(), nn.ReLU()
        for layer in (self.stem, self.middle):
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
        # labels are rare: start at their frequency
        prior = -math.log((1 - RARE) / RARE)
        for layer in (self.middle, self.out) if is_faulty else (self.out,):
            nn.init.constant_(layer.bias, prior * (1.9 if layer is self.middle else 1))

    def forward(self, x):
        x = self.act_stem(self.stem(x))
        return self.out(self.act_middle(self.middle(x)))


x, y = signals(8000)
x_held, y_held = signals(1000)
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(8):
    model.train()
    order = torch.randperm(len(x))
    total = 0.0
    for start in range(0, len(x), 100):
        rows = order[start : start + 100]
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() / 80
    model.eval()
    with torch.no_grad():
        held = criterion(model(x_held), y_held).item()
        hidden = torch.relu(model.middle(torch.relu(model.stem(x_held))))
        dead = ((hidden > 0).float().mean(0) < 0.01).float().mean().item()
    print(f"epoch {epoch}: train {total:.4f}, validation {held:.4f}, silent {dead:.2f}")
