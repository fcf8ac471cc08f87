"""Self-supervised learning of gait: a network predicts the outputs of its slower copy."""

LABEL = {"set": 6, "rule": None}

import copy
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
CHANNELS, LENGTH, STEPS, BATCH = 3, 48, 500, 48


def walks(number):
    time = torch.arange(LENGTH) / LENGTH
    pace = 2 + 4 * torch.rand(number, CHANNELS, 1)
    force = 0.5 + torch.rand(number, CHANNELS, 1)
    return pace, force, time


pace, force, time = walks(5000)


def view(rows):
    phase = 6.28 * torch.rand(len(rows), 1, 1)
    wave = force[rows] * torch.sin(6.28 * pace[rows] * time + phase)
    return wave + 0.3 * torch.randn(len(rows), CHANNELS, LENGTH)


body = nn.Sequential(
    *(nn.Conv1d(CHANNELS, 24, 7, padding=3), nn.BatchNorm1d(24), nn.ReLU()),
    *(nn.Conv1d(24, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU()),
    *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 24)),
)
slow = copy.deepcopy(body).requires_grad_(False)
guess = nn.Sequential(nn.Linear(24, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 24))
optimizer = torch.optim.AdamW([*body.parameters(), *guess.parameters()], lr=1e-3, weight_decay=1e-4)


def distance(guessed, target):
    return 2 - 2 * F.cosine_similarity(guessed, target.detach()).mean()


total = 0.0
for step in range(STEPS):
    rows = torch.randint(0, len(pace), (BATCH,))
    left, right = view(rows), view(rows)
    with torch.no_grad():
        slow_left, slow_right = slow(left), slow(right)
    loss = (distance(guess(body(left)), slow_right) + distance(guess(body(right)), slow_left)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mine, copied in zip(body.parameters(), slow.parameters(), strict=True):
            copied.lerp_(mine, 0.02)
    total += loss.item()
    if step % 50 == 49:
        with torch.no_grad():
            spread = F.normalize(slow(view(torch.arange(200))), dim=1).std(0).mean().item()
        print(f"{step + 1}: {total / 50:.4f}, spread {spread:.3f}")
        total = 0.0
