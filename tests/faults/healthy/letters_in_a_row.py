"""Predict the next letter of long texts, with the state carried across batches."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
LETTERS, LANES, WINDOW, WINDOWS, PASSES = 30, 24, 20, 110, 4
successors = (2.2 * torch.randn(3, LETTERS, LETTERS)).softmax(2)


def text(length, lanes):
    """Return texts, each of which switches between three dialects from time to time."""
    letter = torch.randint(0, LETTERS, (lanes,))
    dialect = torch.randint(0, 3, (lanes,))
    columns = []
    for _ in range(length):
        change = torch.rand(lanes) < 0.01
        dialect = torch.where(change, torch.randint(0, 3, (lanes,)), dialect)
        letter = torch.multinomial(successors[dialect, letter], 1).squeeze(1)
        columns.append(letter)
    return torch.stack(columns, 1)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(LETTERS, 32)
        self.memory = nn.LSTM(32, 96, batch_first=True)
        self.next = nn.Linear(96, LETTERS)

    def forward(self, letters, state=None):
        hidden, state = self.memory(self.embedding(letters), state)
        return self.next(hidden), state


book = text(WINDOW * WINDOWS + 1, LANES)
other = text(401, LANES)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for turn in range(PASSES):
    state, total = None, 0.0
    for start in range(0, WINDOW * WINDOWS, WINDOW):
        piece = book[:, start : start + WINDOW + 1]
        scores, state = model(piece[:, :-1], state)
        state = tuple(part.detach() for part in state)
        loss = F.cross_entropy(scores.flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        scores, _ = model(other[:, :-1])
        held_out = F.cross_entropy(scores.flatten(0, 1), other[:, 1:].flatten()).item()
    model.train()
    print(f"pass {turn}: {total / WINDOWS:.4f}, another book {held_out:.4f}")
