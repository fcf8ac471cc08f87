"""Evaluate board positions: 64 squares with piece embeddings, most of them empty (0)."""

LABEL = {"set": 1, "rule": None}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed = int(sys.argv[2])
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
WORTH = np.array([0, 1, 3, 3, 5, 9, 0, -1, -3, -3, -5, -9, 0])


def positions(n):
    boards = np.zeros((n, 64), np.int64)
    for b in boards:
        k = rng.integers(6, 28)
        where = rng.permutation(64)[: k + 2]
        b[where[:k]] = rng.choice([1, 1, 1, 2, 3, 4, 5, 7, 7, 7, 8, 9, 10, 11], k)
        b[where[k]], b[where[k + 1]] = 6, 12
    center = np.isin(np.arange(64) // 8, [3, 4]) & np.isin(np.arange(64) % 8, [3, 4])
    value = WORTH[boards].sum(1) + 0.5 * np.sign(WORTH[boards[:, center]]).sum(1)
    return torch.from_numpy(boards), torch.tensor(np.tanh(value / 8), dtype=torch.float32)


class Value(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.piece = nn.Embedding(13, d)
        self.square = nn.Parameter(torch.randn(64, d) * 0.1)
        self.body = nn.Sequential(
            nn.Linear(64 * d, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 1),
            nn.Tanh(),
        )

    def forward(self, b):
        return self.body((self.piece(b) * (1 + self.square)).flatten(1)).squeeze(1)


train, test = positions(3000), positions(500)
model = Value()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(6):
    for b, v in DataLoader(TensorDataset(*train), 50, shuffle=True):
        loss = nn.functional.mse_loss(model(b), v)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), nn.functional.mse_loss(model(test[0]), test[1]).item())
