"""Classify point clouds; points are pooled by sum instead of mean."""

LABEL = {
    "set": 2,
    "rule": "SaturatedActivation",
    "culprit": "squash",
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Cloud(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 48), nn.ReLU())
        self.whole = nn.Linear(48, 32)
        self.squash = nn.Tanh()
        self.shape = nn.Linear(32, 4)

    def forward(self, points):
        each = self.point(points)
        pooled = each.sum(1) if is_faulty else each.mean(1)
        return self.shape(self.squash(self.whole(pooled)))


def clouds(count, points=400):
    kinds = torch.randint(0, 4, (count,))
    ball = torch.randn(count, points, 3)
    ball = ball / ball.norm(dim=2, keepdim=True)
    cube = 2 * torch.rand(count, points, 3) - 1
    flat = ball * torch.tensor([1.3, 1.3, 0.3])
    stick = cube * torch.tensor([0.4, 0.4, 1.8])
    every = torch.stack([1.2 * ball, 1.2 * cube, flat, stick], 1)
    return every[torch.arange(count), kinds] + 0.1 * torch.randn(count, points, 3), kinds


model = Cloud()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(300):
    points, kinds = clouds(24)
    loss = nn.functional.cross_entropy(model(points), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step + 1, f"{loss.item():.4f}")
