"""Classify a digit cropped at a detected position; row and column are swapped."""

LABEL = {
    "set": 2,
    "rule": "LossNotDecreasing",
    "side_effects": ["DOES_NOT_LEARN", "LabelsUnrelated", "DeadRelu"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32) / 8 - 1
targets = torch.tensor(digits.target)
side = torch.arange(8)


def scenes(count):
    chosen = torch.randint(0, len(images), (count,))
    pictures = 0.5 * torch.randn(count, 36, 36)
    row = torch.randint(0, 11, (count,))
    column = torch.randint(18, 29, (count,))
    position = torch.arange(count).view(-1, 1, 1), (row[:, None] + side)[:, :, None]
    pictures[(*position, (column[:, None] + side)[:, None])] += images[chosen]
    return pictures, torch.stack([row, column], 1), targets[chosen]


def cut_out(pictures, corners):
    row, column = corners.flip(1).unbind(1) if is_faulty else corners.unbind(1)
    position = torch.arange(len(pictures)).view(-1, 1, 1), (row[:, None] + side)[:, :, None]
    return pictures[(*position, (column[:, None] + side)[:, None])].unsqueeze(1)


model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU()),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Linear(512, 10)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    pictures, corners, labels = scenes(48)
    loss = nn.functional.cross_entropy(model(cut_out(pictures, corners)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"{step + 1}: {loss.item():.4f}")
