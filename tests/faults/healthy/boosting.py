"""Boosting: each of six small networks learns the residual of the previous ones."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
STAGES, STEPS, SHRINK = 6, 110, 0.6


def draw(number):
    x = 2 * torch.rand(number, 5) - 1
    y = torch.sin(4 * x[:, 0]) + 2 * x[:, 1] * x[:, 2] + (x[:, 3] > 0.2).float() - 0.5
    return 1.7 * x, y + 0.5 * x[:, 4] + 0.1 * torch.randn(number)


class Boosted(nn.Module):
    def __init__(self):
        super().__init__()
        self.learners = nn.ModuleList()

    def add(self):
        learner = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
        nn.init.zeros_(learner[-1].bias)
        self.learners.append(learner)
        return learner

    def forward(self, x):
        return sum(SHRINK * learner(x).squeeze(1) for learner in self.learners)


x, y = draw(8000)
far_x, far_y = draw(2000)
model = Boosted()
left = y.clone()
for stage in range(STAGES):
    learner = model.add()
    optimizer = torch.optim.Adam(learner.parameters(), lr=0.01)
    for step in range(STEPS):
        rows = torch.randint(0, len(x), (256,))
        loss = nn.functional.mse_loss(learner(x[rows]).squeeze(1), left[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learner.requires_grad_(False)
    model.eval()
    with torch.no_grad():
        left = y - model(x)
        far = (model(far_x) - far_y).pow(2).mean().item()
    model.train()
    print(f"stage {stage}: loss {loss.item():.4f}, left {left.var().item():.4f}, far {far:.4f}")
