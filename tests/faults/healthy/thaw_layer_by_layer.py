"""A network trained on eight gestures learns four new ones; layers are unfrozen one by one."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
LENGTH = 40
shapes = torch.randn(12, 3, 6)


def gestures(number, kinds):
    kind = torch.randint(0, len(kinds), (number,))
    waves = torch.stack([torch.sin((k + 1) * torch.linspace(0, 3.1, LENGTH)) for k in range(6)])
    curve = shapes[kinds][kind] @ waves * (1 + 0.2 * torch.randn(number, 1, 1))
    curve = curve + 3.2 * torch.randn(curve.shape)
    return curve / 3.6, kind


body = nn.Sequential(
    nn.Sequential(nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU()),
    nn.Sequential(nn.Conv1d(16, 24, 5, stride=2, padding=2), nn.BatchNorm1d(24), nn.ReLU()),
    nn.Sequential(nn.Flatten(), nn.Linear(24 * LENGTH // 2, 48), nn.ReLU()),
)
criterion = nn.CrossEntropyLoss()


def train(head, optimizer, kinds, steps):
    total = 0.0
    for step in range(steps):
        curve, kind = gestures(48, kinds)
        loss = criterion(head(body(curve)), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 60 == 59:
            print(f"  step {step + 1}: {total / 60:.4f}")
            total = 0.0


print("before")
head = nn.Linear(48, 8)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
train(head, optimizer, torch.arange(8), 360)

body.eval()
for parameter in body.parameters():
    parameter.requires_grad_(False)
head = nn.Linear(48, 4)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
print("a new head")
train(head, optimizer, torch.arange(8, 12), 180)
for number in (2, 1):
    print("thawed:", number)
    part = body[number].train()
    for parameter in part.parameters():
        parameter.requires_grad_(True)
    optimizer.add_param_group({"params": list(part.parameters()), "lr": 2e-4})
    train(head, optimizer, torch.arange(8, 12), 180)
