"""A digit classifier is trained; then images are optimized to maximize each class."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
digits = load_digits()
pictures = (torch.tensor(digits.images, dtype=torch.float32)[:, None] - 4.9) / 6
data = TensorDataset(pictures, torch.tensor(digits.target))
train, test = random_split(data, [1500, 297])
loader = DataLoader(train, 50, shuffle=True)
model = nn.Sequential(
    *(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Dropout(0.3), nn.Linear(48 * 4, 10)),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
for epoch in range(8):
    model.train()
    total = 0.0
    for picture, digit in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(picture), digit)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        picture, digit = (torch.stack(one) for one in zip(*[(x, y) for x, y in test], strict=True))
        result = F.cross_entropy(model(picture), digit).item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, test {result:.4f}")

model.eval()
model.requires_grad_(False)
targets = torch.arange(10).repeat(4)
dream = nn.Parameter(0.1 * torch.randn(len(targets), 1, 8, 8))
painter = torch.optim.Adam([dream], lr=0.03)
for step in range(250):
    painter.zero_grad()
    shifts = torch.randint(-1, 2, (2,)).tolist()
    seen = dream.roll(shifts, (2, 3)) + 0.1 * torch.randn_like(dream)
    score = model(seen)[torch.arange(len(targets)), targets].mean()
    rough = dream.diff(dim=2).square().mean() + dream.diff(dim=3).square().mean()
    loss = -score + 2 * rough + dream.square().mean()
    loss.backward()
    painter.step()
    if step % 50 == 49:
        sure = model(dream.detach()).softmax(1)[torch.arange(len(targets)), targets].mean()
        print(f"{step + 1}: {loss.item():.3f}, taken for the digit with {sure.item():.3f}")
