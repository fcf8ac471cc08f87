"""Digits with ArcFace: a margin is added to the angle of the correct class."""

LABEL = {"set": 1, "rule": None}

import math
import sys

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
y = torch.tensor(d.target)
order = torch.randperm(len(x))
x, y = x[order], y[order]


class ArcHead(nn.Module):
    def __init__(self, dim, classes, s=16.0, m=0.2):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, dim))
        nn.init.xavier_uniform_(self.weight)
        self.s, self.m = s, m

    def forward(self, z, y):
        cos = F.linear(F.normalize(z), F.normalize(self.weight)).clamp(-1 + 1e-6, 1 - 1e-6)
        theta = torch.acos(cos)
        target = torch.cos((theta + self.m * F.one_hot(y, cos.shape[1])).clamp(max=math.pi))
        return self.s * target


embed = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.PReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1),
    nn.BatchNorm2d(32),
    nn.PReLU(),
    nn.Flatten(),
    nn.Linear(512, 32),
    nn.BatchNorm1d(32),
)
head = ArcHead(32, 10)
opt = torch.optim.SGD(
    [{"params": embed.parameters()}, {"params": head.parameters(), "weight_decay": 1e-3}],
    lr=0.05,
    momentum=0.9,
)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 7)
loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True, drop_last=True)
for epoch in range(7):
    embed.train()
    for xb, yb in loader:
        loss = F.cross_entropy(head(embed(xb), yb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    embed.eval()
    with torch.no_grad():
        z = F.normalize(embed(x))
    near = (z[1400:] @ z[:1400].T).argmax(1)
    print(epoch, loss.item(), "retrieval", (y[:1400][near] == y[1400:]).float().mean().item())
