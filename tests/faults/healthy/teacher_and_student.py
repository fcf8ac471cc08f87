"""Distillation in one script: a teacher is trained first, then a smaller student."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32)
x = (x - x.mean()) / x.std()
y = torch.tensor(digits.target)
order = torch.randperm(len(y))
x, y = x[order], y[order]
loader = DataLoader(TensorDataset(x[:1400], y[:1400]), 50, shuffle=True)
x_held, y_held = x[1400:], y[1400:]


def network(width):
    return nn.Sequential(
        nn.Linear(64, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(width, 10),
    )


def held_out(model):
    model.eval()
    with torch.no_grad():
        scores = model(x_held)
    model.train()
    return F.cross_entropy(scores, y_held).item(), (
        scores.argmax(1) == y_held
    ).float().mean().item()


teacher = network(256)
optimizer = torch.optim.AdamW(teacher.parameters(), lr=1e-3, weight_decay=0.05)
for epoch in range(10):
    for image, kind in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(teacher(image), kind, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
    print("teacher %d: %.3f, %.3f %.3f" % (epoch, loss.item(), *held_out(teacher)))  # noqa: UP031

teacher.eval().requires_grad_(False)
student = network(24)
optimizer = torch.optim.AdamW(student.parameters(), lr=4e-3)
for epoch in range(16):
    for image, kind in loader:
        with torch.no_grad():
            targets = torch.softmax(teacher(image) / 2, 1)
        scores = student(image)
        loss = 0.3 * F.cross_entropy(scores, kind) + 0.7 * F.cross_entropy(scores / 2, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("student %d: %.3f, %.3f %.3f" % (epoch, loss.item(), *held_out(student)))  # noqa: UP031
