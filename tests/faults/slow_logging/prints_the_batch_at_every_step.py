"""Leftover debugging output: each step prints its batch and logs every sample."""

LABEL = {
    "set": "calibration",
    "rule": "SlowLogging",
    "culprit": "prints_the_batch_at_every_step.py",
    "side_effects": ["HotFunction"],
}

import logging
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("train")
directions = torch.randn(24, 5)
model = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
model.append(nn.Linear(128, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    points = torch.randn(128, 24)
    labels = (points @ directions + 0.5 * torch.randn(128, 5)).argmax(dim=1)
    scores = model(points)
    loss = nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if is_faulty:
        print("batch", step, points, scores)
        for label, guess in zip(labels.tolist(), scores.argmax(dim=1).tolist(), strict=True):
            log.info("step %d: label %d, guess %d", step, label, guess)
    elif step % 50 == 49:
        print("batch", step, points[0])
        log.info("step %d: loss %.3f", step, loss.item())
