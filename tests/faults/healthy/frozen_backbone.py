"""Fine-tuning: the backbone is frozen and stays in eval mode, only the head learns."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
train = DataLoader(
    TensorDataset(images[:1500], torch.tensor(digits.target[:1500])), 32, shuffle=True
)
valid = DataLoader(TensorDataset(images[1500:], torch.tensor(digits.target[1500:])), 99)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1)
        )
        self.head = nn.Linear(32 * 36, 10)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


model = Net()
model.backbone.requires_grad_(False)
optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-3)
for epoch in range(5):
    model.train()
    for batch, labels in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(batch).argmax(1) == labels).sum().item() for batch, labels in valid)
    print(epoch, loss.item(), right / 297)
