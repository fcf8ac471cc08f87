"""Predict the larger of two running counts, on sequences that grow from 6 to 60 steps."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


def sequences(number, length):
    marks = torch.randint(3, (number, length))
    ahead = (marks == 1).cumsum(1) - (marks == 2).cumsum(1)
    return marks, ahead.sign() + 1


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.marks = nn.Embedding(3, 16)
        self.cell = nn.GRU(16, 48, batch_first=True)
        self.out = nn.Linear(48, 3)

    def forward(self, marks):
        return self.out(self.cell(self.marks(marks))[0])


model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
step = 0
for length, steps in ((6, 250), (15, 250), (30, 250), (60, 250)):
    for _ in range(steps):
        marks, ahead = sequences(32, length)
        outputs = model(marks)
        loss = nn.functional.cross_entropy(outputs.flatten(0, 1), ahead.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print(f"{step}: length {length}, loss {loss.item():.3f}")
