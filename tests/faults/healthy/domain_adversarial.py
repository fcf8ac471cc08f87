"""Digits of two scanners, with features that must not reveal the scanner."""

LABEL = {"set": 4, "rule": None}

import math
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -ctx.strength * gradient, None


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(64, 96), nn.ELU(), nn.Linear(96, 48), nn.ELU())
        self.digit = nn.Linear(48, 10)
        self.scanner = nn.Sequential(nn.Linear(48, 32), nn.ELU(), nn.Linear(32, 1))

    def forward(self, pictures, strength):
        features = self.features(pictures)
        return self.digit(features), self.scanner(Reverse.apply(features, strength)).squeeze(1)


digits = load_digits()
order = torch.randperm(1797)
pictures = torch.tensor(digits.data, dtype=torch.float32)[order] / 8 - 1
labels = torch.tensor(digits.target)[order]
source_images, answers = pictures[:900], labels[:900]
target_images = 0.7 * pictures[900:] + 0.3 * torch.randn(64) + 0.1 * torch.randn(897, 64)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.99))
STEPS = 500
for step in range(STEPS):
    strength = 0.1 * (2 / (1 + math.exp(-10 * step / STEPS)) - 1)
    source_rows, target_rows = torch.randint(0, 900, (32,)), torch.randint(0, 600, (32,))
    outputs, origin = model(
        torch.cat([source_images[source_rows], target_images[target_rows]]), strength
    )
    origins = torch.cat([torch.zeros(32), torch.ones(32)])
    digit_loss = nn.functional.cross_entropy(outputs[:32], answers[source_rows])
    origin_loss = nn.functional.binary_cross_entropy_with_logits(origin, origins)
    optimizer.zero_grad()
    (digit_loss + origin_loss).backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            hits = (model(target_images[600:], 0)[0].argmax(1) == labels[1500:]).float().mean()
        model.train()
        print(step, digit_loss.item(), origin_loss.item(), hits.item())
