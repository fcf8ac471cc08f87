"""Pretraining on digit rotations, then classification: first frozen, then fine-tuned."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
labels = torch.tensor(digits.target)
body = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten()),
)


def turned(count):
    chosen = images[torch.randint(0, len(images), (count,))]
    turns = torch.randint(0, 4, (count,))
    every = torch.stack([torch.rot90(chosen, number, (2, 3)) for number in range(4)])
    return every[turns, torch.arange(count)], turns


def plain(count):
    rows = torch.randint(0, len(images), (count,))
    return images[rows], labels[rows]


def train(model, optimizer, draw, steps):
    for _ in range(steps):
        batch, targets = draw(40)
        loss = nn.functional.cross_entropy(model(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{draw.__name__}: {loss.item():.3f}")


model = nn.Sequential(body, nn.Linear(512, 4))
train(model, torch.optim.AdamW(model.parameters(), lr=1e-3), turned, 220)

model = nn.Sequential(body, nn.Linear(512, 10))
body.requires_grad_(False)
body.eval()
train(model, torch.optim.AdamW(model[1].parameters(), lr=1e-3), plain, 150)

body.requires_grad_(True)
groups = [{"params": body.parameters(), "lr": 1e-4}, {"params": model[1].parameters()}]
train(model, torch.optim.AdamW(groups, lr=5e-4), plain, 150)
