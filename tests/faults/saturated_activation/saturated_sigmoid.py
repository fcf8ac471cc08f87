"""An autoencoder with a sigmoid bottleneck that is saturated by a large gain."""

LABEL = {
    "set": 1,
    "rule": "SaturatedActivation",
    "culprit": "squash",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(64, 24)
        self.squash = nn.Sigmoid()
        self.decode = nn.Linear(24, 64)
        self.gain = 100.0 if is_faulty else 1.0  # "makes the codes binary"

    def forward(self, x):
        return self.decode(self.squash(self.gain * self.encode(x)))


x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
x = (x - x.mean()) / x.std()
model = AutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for chosen in torch.randperm(len(x)).split(36):
        loss = nn.functional.mse_loss(model(x[chosen]), x[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
