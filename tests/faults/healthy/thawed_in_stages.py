"""Fine-tuning in stages: the head, then upper layers, then all layers at a lower rate."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower = nn.Sequential(nn.Linear(12, 48), nn.ReLU())
        self.upper = nn.Sequential(nn.Linear(48, 48), nn.ReLU())
        self.head = nn.Linear(48, 3)

    def forward(self, x):
        return self.head(self.upper(self.lower(x)))


def draw(shift):
    points = torch.randn(50, 12)
    scores = torch.stack([points[:, shift], points[:, 1] * points[:, 2], points[:, 3]], dim=1)
    return points, scores.argmax(1)


def train(parts, rate, steps, shift):
    for part in (model.lower, model.upper, model.head):
        part.requires_grad_(requires_grad=part in parts)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=rate)
    for _ in range(steps):
        points, labels = draw(shift)
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(len(parts), loss.item())


model = Net()
train((model.lower, model.upper, model.head), 3e-3, 150, shift=0)  # the task before
model.head = nn.Linear(48, 3)
train((model.head,), 3e-3, 100, shift=5)
train((model.upper, model.head), 1e-3, 120, shift=5)
train((model.lower, model.upper, model.head), 5e-4, 120, shift=5)
