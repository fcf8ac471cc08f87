"""Purchases after clicks; duplicates are looked up in a list that keeps growing."""

LABEL = {
    "set": 6,
    "rule": "ThroughputDrop",
    "side_effects": [
        "DataLoaderStarvation",
        "Dataloader",
        "HotFunction",
        "StepOutlier",
        "HostMemoryLeak",
    ],
}

import random
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
random.seed(seed)
FEATURES, STEPS, BATCH = 40, 800, 32
rule = torch.randn(FEATURES, 6) / FEATURES**0.5


class Clicks(IterableDataset):
    """A stream of events without duplicates."""

    def __init__(self, number):
        self.seen = [] if is_faulty else set()
        features = torch.randn(number, FEATURES)
        score = torch.tanh(2 * features @ rule).sum(1)
        bought = (score + 0.5 * torch.randn(number) > 0).float()
        self.events = [
            (random.getrandbits(60), *event) for event in zip(features, bought, strict=True)
        ]

    def __iter__(self):
        for position, (number, features, bought) in enumerate(self.events):
            if random.random() < 0.02:  # delivered again
                number, features, bought = self.events[max(0, position - 50)]
            if number in self.seen:
                continue
            if is_faulty:
                self.seen.append(number)
            else:
                self.seen.add(number)
            yield features, bought


model = nn.Sequential(
    *(nn.Linear(FEATURES, 400), nn.ReLU(), nn.Dropout(0.1)),
    *(nn.Linear(400, 400), nn.ReLU(), nn.Dropout(0.1)),
    nn.Linear(400, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
total = 0.0
for step, (features, bought) in enumerate(DataLoader(Clicks(STEPS * BATCH + 2000), BATCH)):
    optimizer.zero_grad()
    loss = criterion(model(features).squeeze(1), bought)
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 80 == 79:
        print(f"{step + 1}: {total / 80:.4f}")
        total = 0.0
    if step + 1 == STEPS:
        break
