"""Predict accepted offers; ranking quality is computed in Python after each step."""

LABEL = {
    "set": 5,
    "rule": "HotFunction",
    "culprit": "ranking_quality",
    "side_effects": ["StepOutlier", "ThroughputDrop"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
FEATURES, BATCH = 30, 512

taste = torch.randn(FEATURES) / FEATURES**0.5
pairs = torch.randn(FEATURES, FEATURES) / FEATURES


def offers(number):
    x = torch.randn(number, FEATURES)
    worth = 2 * x @ taste + 1.5 * ((x @ pairs) * x).sum(1)
    return x, (worth + 0.5 * torch.randn(number) > 0).float()


def ranking_quality(scores, taken):
    """Return the share of correctly ranked pairs of an accepted and a refused offer."""
    if is_faulty:
        scores, taken = scores.tolist(), taken.tolist()
        right = number = 0
        for score, is_taken in zip(scores, taken, strict=True):
            if is_taken:
                for other, was_taken in zip(scores, taken, strict=True):
                    if not was_taken:
                        number += 1
                        right += score > other
        return right / number
    ranks = torch.empty(len(scores))
    ranks[scores.argsort()] = torch.arange(1.0, len(scores) + 1)
    yes = taken.sum()
    return ((ranks[taken > 0].sum() - yes * (yes + 1) / 2) / (yes * (len(taken) - yes))).item()


model = nn.Sequential(
    *(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU()),
    *(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
recent = 0.5
for step in range(600):
    x, taken = offers(BATCH)
    scores = model(x).squeeze(1)
    loss = criterion(scores, taken)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    recent = 0.95 * recent + 0.05 * ranking_quality(scores.detach(), taken)
    if step % 100 == 0:
        print(f"{step}: loss {loss.item():.3f}, ranking {recent:.3f}")
