"""A stream that repeats itself; duplicates are looked up in a list that keeps growing."""

LABEL = {
    "set": 4,
    "rule": "ThroughputDrop",
    "first_step": 50,
    "side_effects": ["HotFunction", "DataLoaderStarvation", "StepOutlier"],
}

import hashlib
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Stream:
    def __init__(self, inputs=24):
        self.weights = torch.randn(inputs, 3) / inputs**0.5
        self.inputs = inputs
        self.last = torch.randn(4, inputs)

    def __iter__(self):
        while True:
            fresh = torch.randn(64, self.inputs)
            rows = torch.cat([fresh, self.last])[torch.randperm(68)]
            self.last = fresh[:4]
            yield from rows


class WithoutRepeats:
    def __init__(self, stream, size):
        self.stream, self.size = stream, size
        self.seen = [] if is_faulty else set()

    def is_new(self, row):
        mark = hashlib.md5(row.numpy().tobytes()).hexdigest()
        if mark in self.seen:
            return False
        if is_faulty:
            self.seen.append(mark)
        else:
            self.seen.add(mark)
        return True

    def __iter__(self):
        rows = []
        for row in self.stream:
            if self.is_new(row):
                rows.append(row)
            if len(rows) == self.size:
                yield torch.stack(rows)
                rows = []


stream = Stream()
model = nn.Sequential(
    nn.Linear(24, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU(), nn.Linear(512, 3)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step, rows in enumerate(WithoutRepeats(stream, 48)):
    targets = torch.tanh(2 * rows @ stream.weights) + 0.1 * torch.randn(48, 3)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(rows), targets)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
    if step == 450:
        break
