"""Active learning: requests labels of the least certain samples in several rounds."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))
d = load_digits()
x = torch.tensor(d.data, dtype=torch.float32)
x = (x - 4.9) / 6.0
y = torch.tensor(d.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
tx, ty, x, y = x[:400], y[:400], x[400:], y[400:]
labelled = torch.zeros(len(x), dtype=torch.bool)
labelled[torch.randperm(len(x))[:100]] = True


def fresh():
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, 10))


for rnd in range(7):
    model = fresh()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-3)
    pool = labelled.nonzero()[:, 0]
    model.train()
    for step in range(70):
        i = pool[torch.randint(0, len(pool), (64,))]
        loss = F.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (model(tx).argmax(1) == ty).float().mean().item()
        p = model(x).softmax(1)
        ent = -(p * p.clamp_min(1e-9).log()).sum(1)
        ent[labelled] = -1
        labelled[ent.topk(40).indices] = True
    print(rnd, len(pool), round(loss.item(), 3), round(acc, 3))
