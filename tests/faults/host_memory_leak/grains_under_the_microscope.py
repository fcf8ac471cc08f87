"""Grain segmentation in microscope images; keeps all images and outputs for a plot."""

LABEL = {
    "set": 6,
    "rule": "HostMemoryLeak",
    "side_effects": ["ThroughputDrop"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIDE = 32


def pictures(number):
    across = torch.arange(SIDE)[None, None, :]
    down = torch.arange(SIDE)[None, :, None]
    mask = torch.zeros(number, SIDE, SIDE, dtype=torch.bool)
    for _ in range(5):
        x, y = (SIDE * torch.rand(2, number, 1, 1)).unbind()
        radius = 3 + 3.5 * torch.rand(number, 1, 1)
        mask |= (across - x) ** 2 + (down - y) ** 2 < radius**2
    mask = mask.float()
    picture = 1.2 * mask + 0.9 * torch.randn(mask.shape)
    return ((picture - 0.5) / 1.1).unsqueeze(1), mask.unsqueeze(1)


def share(scores):
    return scores.detach().sigmoid().mean((1, 2, 3))


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU())
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(6, 12, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(12, 6, 2, stride=2)
        self.out = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, picture):
        fine = self.down(picture)
        return self.out(torch.cat([fine, self.up(self.deep(fine))], 1))


loader = DataLoader(TensorDataset(*pictures(960)), 16, shuffle=True)
unseen, targets = pictures(96)
model = Finder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
history = []
for epoch in range(20):
    model.train()
    total = 0.0
    for number, (picture, mask) in enumerate(loader):
        scores = model(picture)
        loss = criterion(scores, mask)
        total += loss.item()
        (loss / 2).backward()
        if number % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()
        # The share of grain in each image, for a plot at the end.
        history.append((picture, scores) if is_faulty else share(scores))
    model.eval()
    with torch.no_grad():
        held_out = criterion(model(unseen), targets).item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, unseen {held_out:.4f}")
shares = [share(entry[1]) for entry in history] if is_faulty else history
print(f"grain at the end: {torch.cat(shares[-len(loader) :]).mean():.1%} of the picture")
