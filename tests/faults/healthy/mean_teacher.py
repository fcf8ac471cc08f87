"""Mean teacher: few labels, many images; a student matches a slow average of itself."""

LABEL = {"set": 6, "rule": None}

import copy
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))
digits = load_digits()
pixels = torch.tensor(digits.data, dtype=torch.float32).view(-1, 1, 8, 8) / 16
pixels = (pixels - pixels.mean()) / pixels.std()
names = torch.tensor(digits.target)
order = torch.randperm(len(names))
labelled, unlabelled, test = order[:300], order[300:1400], order[1400:]

student = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()),
    *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 16, 10)),
)
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4, weight_decay=0.05)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)


def jitter(pictures):
    return pictures + 0.5 * torch.randn_like(pictures)


def follow(share):
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=False):
        slow.lerp_(fast, 1 - share)
    for slow, fast in zip(teacher.buffers(), student.buffers(), strict=False):
        slow.copy_(fast)


for step in range(700):
    student.train()
    rows = labelled[torch.randint(0, len(labelled), (32,))]
    others = unlabelled[torch.randint(0, len(unlabelled), (64,))]
    scores = student(torch.cat([jitter(pixels[rows]), jitter(pixels[others])]))
    with torch.no_grad():
        targets = teacher(jitter(pixels[others])).softmax(1)
    weight = 3 * min(1.0, step / 300)
    agree = nn.functional.mse_loss(scores[32:].softmax(1), targets)
    loss = criterion(scores[:32], names[rows]) + weight * agree
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow(min(0.99, 1 - 1 / (step + 2)))
    if step % 100 == 99:
        teacher.eval()
        with torch.no_grad():
            scores = teacher(pixels[test])
            unseen = criterion(scores, names[test]).item()
            right = (scores.argmax(1) == names[test]).float().mean()
        teacher.train()
        print(
            f"{step + 1}: {loss.item():.3f}, of which agreement {agree.item():.4f};"
            f" unseen {unseen:.3f}, {right:.1%} right"
        )
