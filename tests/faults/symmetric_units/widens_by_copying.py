"""A small network is trained, then widened by seven copies of every unit."""

LABEL = {
    "set": 3,
    "rule": "SymmetricUnits",
    "first_step": 200,
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
NARROW, TIMES = 4, 8

teacher = nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 3))
nn.init.normal_(teacher[0].weight, std=0.6)
nn.init.normal_(teacher[2].weight, std=0.3)
points = torch.randn(6400, 12)
with torch.no_grad():
    answers = teacher(points) + 0.05 * torch.randn(6400, 3)
loader = DataLoader(TensorDataset(points, answers), batch_size=64, shuffle=True)


def build(width):
    return nn.Sequential(
        *(nn.Linear(12, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()),
        nn.Linear(width, 3),
    )


@torch.no_grad()
def widened(small):
    wide = build(NARROW * TIMES)
    for old, new in zip(small, wide, strict=True):
        if not isinstance(old, nn.Linear):
            continue
        rows = TIMES if new.out_features > old.out_features else 1
        columns = TIMES if new.in_features > old.in_features else 1
        weight = old.weight.repeat(rows, columns) / columns
        if not is_faulty:
            weight += 0.3 * weight.std() * torch.randn_like(weight)
        new.weight.copy_(weight)
        new.bias.copy_(old.bias.repeat(rows))
    return wide


def train(network, epochs):
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for point, answer in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(network(point), answer)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total / len(loader))


small = build(NARROW)
train(small, 2)
wide = widened(small)
train(wide, 5)
