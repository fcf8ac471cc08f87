"""Predict the next note of melodies in which most notes are held."""

LABEL = {"set": 1, "rule": None}

import sys

import numpy as np
import torch
from torch import nn

seed = int(sys.argv[2])
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
HOLD, REST, NOTES = 0, 1, 16
SCALE = [0, 2, 4, 5, 7, 9, 11, 12]


def melody(length=48):
    out, degree = [], rng.integers(8)
    while len(out) < length:
        degree = int(np.clip(degree + rng.choice([-2, -1, -1, 1, 1, 2]), 0, 7))
        hold = int(rng.choice([2, 4, 4, 8]))
        out += [REST if rng.random() < 0.06 else 2 + SCALE[degree], *[HOLD] * (hold - 1)]
    return out[:length]


train = torch.tensor([melody() for _ in range(500)])
valid = torch.tensor([melody() for _ in range(80)])


class Melody(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(NOTES, 24)
        self.lstm = nn.LSTM(24, 64, batch_first=True)
        self.out = nn.Linear(64, NOTES)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0])


model = Melody()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(train)).split(25):
        x = train[idx]
        loss = nn.functional.cross_entropy(model(x[:, :-1]).transpose(1, 2), x[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.cross_entropy(model(valid[:, :-1]).transpose(1, 2), valid[:, 1:])
    print(epoch, loss.item(), val.item())
