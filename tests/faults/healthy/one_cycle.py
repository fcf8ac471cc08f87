"""One-cycle schedule: the rate rises 30-fold and ends at 1/10,000 of its initial value."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

EPOCHS = 8
points = torch.randn(2500, 8)
labels = ((points[:, :4] ** 2).sum(1) > (points[:, 4:] ** 2).sum(1)).long()
train = DataLoader(TensorDataset(points[:2000], labels[:2000]), batch_size=40, shuffle=True)
valid = DataLoader(TensorDataset(points[2000:], labels[2000:]), batch_size=250)
model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
schedule = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=0.3, div_factor=30, total_steps=EPOCHS * len(train)
)
for epoch in range(EPOCHS):
    model.train()
    for batch, targets in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), targets)
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(batch).argmax(1) == targets).sum().item() for batch, targets in valid)
    print(epoch, loss.item(), right / 500, schedule.get_last_lr()[0])
