"""Residual branches with a factor that starts at zero, so their layers do not learn at first."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))


class Branch(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.factor = nn.Parameter(torch.zeros(1))

    def forward(self, images):
        return images + self.factor * self.conv2(torch.relu(self.conv1(images)))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1, stride=2)
        self.branches = nn.Sequential(*(Branch(16) for _ in range(5)))
        self.head = nn.Linear(256, 10)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, images):
        return self.head(torch.relu(self.branches(self.stem(images))).flatten(1))


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
targets = torch.tensor(digits.target)
train = DataLoader(TensorDataset(images[:1440], targets[:1440]), batch_size=32, shuffle=True)
model = Residual()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
for epoch in range(8):
    model.train()
    for batch, labels in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(images[1440:]).argmax(1) == targets[1440:]).float().mean()
    factors = [round(branch.factor.item(), 2) for branch in model.branches]
    print(epoch, loss.item(), right.item(), factors)
