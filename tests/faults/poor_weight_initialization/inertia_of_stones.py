"""Axes of stones from surface points; weights are initialized with a deviation of 1."""

LABEL = {
    "set": 7,
    "rule": "PoorWeightInitialization",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "WeightUpdateRatio"],
}

import math
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
POINTS, BATCH, STEPS = 48, 32, 500


def scan(number):
    axes = (0.4 * torch.randn(number, 3)).exp()
    turn = torch.linalg.qr(torch.randn(number, 3, 3)).Q
    points = nn.functional.normalize(torch.randn(number, POINTS, 3), dim=2) * axes[:, None]
    points = points @ turn + 0.05 * torch.randn(number, POINTS, 3)
    return points, axes.log().sort(1).values / 0.4


class Cloud(nn.Module):
    """Shared layers for all points, followed by max pooling."""

    def __init__(self):
        super().__init__()
        self.points = nn.Sequential(
            *(nn.Linear(3, 64), nn.ReLU()),
            *(nn.Linear(64, 64), nn.ReLU()),
            *(nn.Linear(64, 64), nn.ReLU()),
            *(nn.Linear(64, 96), nn.ReLU()),
        )
        self.whole = nn.Linear(96, 3)

    def forward(self, points):
        return self.whole(self.points(points).amax(1))


def initialize(module):
    if isinstance(module, nn.Linear):
        std = 1.0 if is_faulty else math.sqrt(2 / module.in_features)
        nn.init.normal_(module.weight, std=std)
        nn.init.zeros_(module.bias)


model = Cloud()
model.apply(initialize)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.SmoothL1Loss()
unseen, unseen_axes = scan(300)
points, axes = scan(4000)
for step in range(STEPS):
    rows = torch.randint(0, len(points), (BATCH,))
    loss = criterion(model(points[rows]), axes[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            held_out = criterion(model(unseen), unseen_axes).item()
        model.train()
        print(f"{step + 1}: {loss.item():.4f}, validation {held_out:.4f}")
