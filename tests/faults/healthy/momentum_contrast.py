"""Momentum contrast: views of faces, a queue of negatives and a second, slower encoder."""

LABEL = {"set": 5, "rule": None}

import copy
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize

torch.manual_seed(int(sys.argv[2]))
SIZE, QUEUE = 48, 512
mixing = torch.randn(10, SIZE) / 10**0.5


def views(number):
    face = torch.randn(number, 10) @ mixing
    return tuple((face + 0.7 * torch.randn(number, SIZE)) / 1.22 for _ in range(2))


encoder = nn.Sequential(nn.Linear(SIZE, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 32))
follower = copy.deepcopy(encoder)  # updated by an average, never by gradients
follower.requires_grad_(False)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.06, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1500)
queue = torch.empty(0, 32)
for step in range(1500):
    first_view, second_view = views(64)
    query = normalize(encoder(first_view), dim=1)
    with torch.no_grad():
        for slow, fast in zip(follower.parameters(), encoder.parameters(), strict=True):
            slow.lerp_(fast, 0.01)
        key = normalize(follower(second_view), dim=1)
    # The task gets harder while the queue is filled in the first steps.
    likeness = query @ torch.cat([key, queue]).T / 0.1
    loss = cross_entropy(likeness, torch.arange(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    queue = torch.cat([key, queue])[:QUEUE]
    if step % 100 == 0:
        hits = (likeness.argmax(1) == torch.arange(64)).float().mean()
        print(f"{step}: loss {loss.item():.3f}, found {hits:.2f}")
