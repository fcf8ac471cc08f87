"""Nights of patients with one token per minute, most of them without an event."""

LABEL = {
    "set": 3,
    "rule": "NLPSequenceRatio",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
MINUTES, EVENTS, KINDS, PATIENTS = 60, 14, 40, 3000

habits = torch.softmax(0.7 * torch.randn(3, KINDS), dim=1)
groups = torch.randint(0, 3, (PATIENTS,))
what = torch.multinomial(habits[groups], EVENTS, replacement=True) + 1
when = torch.rand(PATIENTS, MINUTES).argsort(dim=1)[:, :EVENTS].sort(dim=1).values


def by_minute():
    nights = torch.zeros(PATIENTS, MINUTES, dtype=torch.long)
    return nights.scatter(1, when, what)


def by_event():
    return what


class Nights(nn.Module):
    def __init__(self):
        super().__init__()
        self.events = nn.Embedding(KINDS + 1, 24)
        self.read = nn.GRU(24, 48, batch_first=True)
        self.group = nn.Linear(48, 3)

    def forward(self, tokens):
        _, last = self.read(self.events(tokens))
        return self.group(last[0])


tokens = by_minute() if is_faulty else by_event()
model = Nights()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
total = 0.0
for epoch in range(4):
    order = torch.randperm(PATIENTS)
    for number, rows in enumerate(order.split(50)):
        loss = nn.functional.cross_entropy(model(tokens[rows]), groups[rows])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
        if number % 20 == 19:
            print(f"epoch {epoch}, batch {number + 1}: loss {total / 20:.3f}")
            total = 0.0
