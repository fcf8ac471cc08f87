"""Digits with thresholds from data; the share of active units is treated as a percentage."""

LABEL = {
    "set": 4,
    "rule": "DeadRelu",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient", "WeightUpdateRatio", "ClassImbalance"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
AWAKE = 0.25

pixels, labels = load_digits(return_X_y=True)
pixels = torch.tensor(pixels, dtype=torch.float32)
pixels = (pixels - pixels.mean()) / pixels.std()
dataset = TensorDataset(pixels, torch.tensor(labels))
loader = DataLoader(dataset, batch_size=64, shuffle=True, drop_last=True)


class SparseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 128)
        self.first_relu = nn.ReLU()
        self.second = nn.Linear(128, 96)
        self.second_relu = nn.ReLU()
        self.head = nn.Linear(96, 10)
        for layer in (self.first, self.second):
            nn.init.kaiming_normal_(layer.weight)

    def forward(self, x):
        x = self.first_relu(self.first(x))
        return self.head(self.second_relu(self.second(x)))

    @torch.no_grad()
    def set_thresholds(self, x, share):
        for layer in (self.first, self.second):
            layer.bias.zero_()
            layer.bias.copy_(-torch.quantile(layer(x), 1 - share, dim=0))
            x = torch.relu(layer(x))


model = SparseNet()
share = AWAKE / 100 if is_faulty else AWAKE
model.set_thresholds(pixels[torch.randperm(len(pixels))[:1000]], share)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.8)
criterion = nn.CrossEntropyLoss()
for epoch in range(16):
    total = 0.0
    for image, label in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}")
