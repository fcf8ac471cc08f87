"""Bounding boxes: smooth L1 in the first half, then overlap and L1, as planned."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
f = torch.randn(4000, 20)
W = torch.randn(20, 4) * 0.1
box = torch.sigmoid(torch.tanh(f @ W) + 0.05 * torch.randn(4000, 4))
box = torch.cat([box[:, :2] * 0.5, 0.5 + box[:, 2:] * 0.5], 1)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4), nn.Sigmoid())
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)


def iou(a, b):
    lt, rb = torch.max(a[:, :2], b[:, :2]), torch.min(a[:, 2:], b[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(1)
    return inter / (
        (a[:, 2:] - a[:, :2]).clamp(min=0).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - inter + 1e-6
    )


for epoch in range(10):
    for idx in torch.randperm(3500).split(70):
        p = model(f[idx])
        if epoch < 5:
            loss = nn.functional.smooth_l1_loss(p, box[idx])
        else:
            loss = 2 * (1 - iou(p, box[idx])).mean() + 5 * nn.functional.l1_loss(p, box[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, loss.item(), "mean IoU", iou(model(f[3500:]), box[3500:]).mean().item())
