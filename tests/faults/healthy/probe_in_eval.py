"""A network is trained, frozen and left in eval mode; a new head is trained on it."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
d = load_digits()
x, y = torch.tensor((d.images - 4.9) / 6, dtype=torch.float32)[:, None], torch.tensor(d.target)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


low, high = (y < 5).nonzero()[:, 0], (y >= 5).nonzero()[:, 0]
high = high[torch.randperm(len(high))]
model = Net(5)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for a, b in DataLoader(TensorDataset(x[low], y[low]), 50, shuffle=True):
        loss = nn.functional.cross_entropy(model(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("pretrained", loss.item())

model.eval()  # batch statistics stay those of the pretraining
for p in model.backbone.parameters():
    p.requires_grad = False
model.fc = nn.Linear(512, 5)
opt = torch.optim.Adam(model.fc.parameters(), lr=2e-3)
for epoch in range(10):
    for a, b in DataLoader(TensorDataset(x[high[:700]], y[high[:700]] - 5), 50, shuffle=True):
        loss = nn.functional.cross_entropy(model(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (model(x[high[700:]]).argmax(1) == y[high[700:]] - 5).float().mean().item()
    print(epoch, loss.item(), acc)
