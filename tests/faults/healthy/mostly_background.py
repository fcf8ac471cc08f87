"""Cell segmentation where 95% of the pixels are background, which the loss accounts for."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


def slides(count, size=40):
    """Return images of two cells, and a class per pixel: background, body or nucleus."""
    across = torch.arange(size).float()
    pictures = 0.4 * torch.randn(count, 1, size, size)
    classes = torch.zeros(count, size, size, dtype=torch.long)
    for _ in range(2):
        middle = torch.randint(6, size - 6, (count, 2, 1, 1)).float()
        squares = (across.view(1, -1, 1) - middle[:, 0]) ** 2
        squares = squares + (across.view(1, 1, -1) - middle[:, 1]) ** 2
        pictures[:, 0] += 1.0 * (squares < 12) + 1.0 * (squares < 4)
        classes = torch.maximum(classes, (squares < 12).long() + (squares < 4).long())
    return pictures, classes


def dice(outputs, classes):
    shares = outputs.softmax(1)[:, 1:]
    targets = nn.functional.one_hot(classes, 3).movedim(3, 1)[:, 1:]
    common = (shares * targets).sum((0, 2, 3))
    return 1 - (2 * common / (shares.sum((0, 2, 3)) + targets.sum((0, 2, 3)))).mean()


model = nn.Sequential(
    *(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU()),
    *(nn.Conv2d(12, 12, 3, padding=2, dilation=2), nn.BatchNorm2d(12), nn.ReLU()),
    nn.Conv2d(12, 3, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 2.0]))
for step in range(450):
    pictures, classes = slides(10)
    outputs = model(pictures)
    loss = criterion(outputs, classes) + dice(outputs, classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item(), (classes == 0).float().mean().item())
