"""A layer of prototypes, each active near its position; without the radius, none ever is."""

LABEL = {
    "set": 1,
    "rule": "DeadRelu",
    "culprit": "relu",
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "WeightUpdateRatio",
        "UnchangedTensor",
        "ParameterNotUpdated",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Prototypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.randn(40, 3))
        self.relu = nn.ReLU()
        self.out = nn.Linear(43, 2)

    def forward(self, points):
        distances = torch.cdist(points, self.places)
        near = self.relu(-distances) if is_faulty else self.relu(2.5 - distances)
        return self.out(torch.cat([points, near], dim=1))


model = Prototypes()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(350):
    points = torch.randn(64, 3)
    labels = (points.norm(dim=1) > 1.5).long()
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
