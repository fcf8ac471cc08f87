"""A frozen backbone; the entire model is in eval mode from the start, only the head learns."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))
d = load_digits()
x, y = torch.tensor((d.images - 4.9) / 6, dtype=torch.float32)[:, None], torch.tensor(d.target)
backbone = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
)
model = nn.Sequential(backbone, nn.Linear(512, 10))
for p in backbone.parameters():
    p.requires_grad = False
model.eval()
p = torch.randperm(len(x))
opt = torch.optim.Adam(model[1].parameters(), lr=1e-3)
for epoch in range(8):
    for i in p[torch.randperm(1400)].split(50):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(
            epoch, loss.item(), (model(x[p[1400:]]).argmax(1) == y[p[1400:]]).float().mean().item()
        )
