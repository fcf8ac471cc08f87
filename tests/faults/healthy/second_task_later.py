"""Two heads on one trunk; the second loss has weight 0 until the first head has learned."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5))
        self.kind, self.speed = nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, signals):
        features = torch.relu(self.trunk(signals)).mean(2)
        return self.kind(features), self.speed(features).squeeze(1)


def draw():
    kinds, speeds = torch.randint(0, 3, (40,)), torch.rand(40) + 0.5
    times = torch.linspace(0, 6.28, 40) * speeds.unsqueeze(1)
    clean = torch.sin(times * (1 + 2 * kinds.unsqueeze(1)))
    return (clean + 0.2 * torch.randn(40, 40)).unsqueeze(1), kinds, speeds - 1


model = TwoTasks()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(450):
    signals, kinds, speeds = draw()
    guessed, estimated = model(signals)
    weight = min(max(step - 150, 0) / 100, 1.0)
    loss = nn.functional.cross_entropy(guessed, kinds)
    loss = loss + weight * nn.functional.mse_loss(estimated, speeds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, weight, loss.item())
