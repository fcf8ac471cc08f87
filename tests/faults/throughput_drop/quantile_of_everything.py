"""Errors beyond a quantile of all errors since the start get less weight."""

LABEL = {
    "set": 3,
    "rule": "ThroughputDrop",
    "first_step": 100,
    "side_effects": ["HotFunction"],
}

import sys
from collections import deque

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
BATCH = 256


class Limit:
    def __init__(self, quantile=0.9):
        self.quantile = quantile
        self.errors = deque(maxlen=None if is_faulty else 10)

    def update(self, errors):
        self.errors.append(errors)
        values = torch.cat(list(self.errors)).sort().values
        return values[int(self.quantile * (len(values) - 1))]


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(12, 128), nn.SiLU()),
            *(nn.Linear(128, 128), nn.SiLU()),
            nn.Linear(128, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


directions = torch.randn(12, 3) / 3
limit = Limit()
model = Surrogate()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 800, eta_min=1e-4)
average = None
for step in range(800):
    designs = torch.randn(BATCH, 12)
    drag = torch.sin(designs @ directions).sum(dim=1) + 0.1 * torch.randn(BATCH)
    drag = drag + 3 * torch.randn(BATCH) * (torch.rand(BATCH) < 0.03)
    errors = (model(designs) - drag).abs()
    bound = limit.update(errors.detach())
    loss = torch.where(errors < bound, errors, bound + 0.1 * (errors - bound)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    average = loss.item() if average is None else 0.97 * average + 0.03 * loss.item()
    if step % 80 == 79:
        print(f"{step + 1}: loss {average:.4f}")
