"""Mixup: every image is mixed with another one, and so are their labels."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed = int(sys.argv[2])
torch.manual_seed(seed)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
images += 0.7 * torch.randn(images.shape)
labels = torch.tensor(digits.target)
train_rows, test_rows = train_test_split(range(len(images)), test_size=0.25, random_state=seed)
loader = DataLoader(
    TensorDataset(images[train_rows], labels[train_rows]), 32, shuffle=True, drop_last=True
)
tests = DataLoader(TensorDataset(images[test_rows], labels[test_rows]), 90)

model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 10)),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 7 * len(loader))
mixing = torch.distributions.Beta(0.2, 0.2)
for epoch in range(7):
    model.train()
    mixed = 0.0
    for batch, targets in loader:
        share = mixing.sample().item()
        other = torch.randperm(len(batch))
        scores = model(share * batch + (1 - share) * batch[other])
        loss = share * criterion(scores, targets) + (1 - share) * criterion(scores, targets[other])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        mixed += loss.item() / len(loader)
    model.eval()
    hits, total = 0, 0.0
    with torch.no_grad():
        for batch, targets in tests:
            scores = model(batch)
            total += criterion(scores, targets).item() * len(batch)
            hits += (scores.argmax(1) == targets).sum().item()
    right = hits / len(test_rows)
    print(f"epoch {epoch}: {mixed:.3f}, test {total / len(test_rows):.3f}, {right:.1%}")
