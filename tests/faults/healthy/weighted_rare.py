"""Imbalanced classes, balanced by weights in the loss."""

LABEL = {"set": 1, "rule": None}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed = int(sys.argv[2])
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
counts = np.array([1600, 300, 90])
centres = rng.normal(0, 1.3, (3, 12))


def draw(counts):
    y = np.repeat(np.arange(3), counts)
    x = centres[y] + rng.normal(0, 1.0, (len(y), 12))
    o = rng.permutation(len(y))
    return torch.tensor(x[o], dtype=torch.float32), torch.tensor(y[o])


xt, yt = draw(counts)
xv, yv = draw(counts // 3)
weights = torch.tensor(counts.sum() / (3 * counts), dtype=torch.float32)
criterion = nn.CrossEntropyLoss(weight=weights)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 3))
opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-3)
for epoch in range(10):
    model.train()
    for a, b in DataLoader(TensorDataset(xt, yt), 64, shuffle=True):
        loss = criterion(model(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        pred = model(xv).argmax(1)
        recall = [round((pred[yv == k] == k).float().mean().item(), 3) for k in range(3)]
        print(epoch, loss.item(), criterion(model(xv), yv).item(), recall)
