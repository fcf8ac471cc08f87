"""Distillation: the teacher stays in eval mode and has no optimizer."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

teacher = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 5))
student = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 5))
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
teacher.eval()
student.train()
for step in range(300):
    points = torch.randn(64, 12)
    with torch.no_grad():
        targets = torch.softmax(teacher(points) / 2, dim=1)
    log_probabilities = torch.log_softmax(student(points) / 2, dim=1)
    loss = nn.functional.kl_div(log_probabilities, targets, reduction="batchmean") * 4
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
