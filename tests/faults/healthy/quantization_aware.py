"""Quantization-aware training with 4-bit weights and straight-through gradients."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

seed = int(sys.argv[2])
torch.manual_seed(seed)


class Rounded(nn.Linear):
    def forward(self, x):
        scale = self.weight.detach().abs().amax(dim=1, keepdim=True) / 7
        rounded = (self.weight / scale).round() * scale
        weight = self.weight + (rounded - self.weight).detach()
        return nn.functional.linear(x, weight, self.bias)


class Steps(nn.Module):
    """Rounds activations to 16 levels of a running range."""

    def __init__(self):
        super().__init__()
        self.register_buffer("highest", torch.ones(1))

    def forward(self, x):
        if self.training:
            self.highest.lerp_(x.detach().amax().reshape(1), 0.05)
        size = self.highest / 15
        rounded = (x.clamp(0, self.highest.item()) / size).round() * size
        return x + (rounded - x).detach()


digits = load_digits()
inputs = torch.tensor(digits.data, dtype=torch.float32) / 8 - 0.6
train_x, test_x, train_y, test_y = train_test_split(
    inputs, torch.tensor(digits.target), test_size=0.25, random_state=seed
)
model = nn.Sequential(
    *(Rounded(64, 96), nn.ReLU(), Steps()),
    *(Rounded(96, 48), nn.ReLU(), Steps(), nn.Linear(48, 10)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(9):
    model.train()
    for chosen in torch.randperm(len(train_x)).split(32):
        loss = nn.functional.cross_entropy(model(train_x[chosen]), train_y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        outputs = model(test_x)
        error = nn.functional.cross_entropy(outputs, test_y).item()
    print(epoch, loss.item(), error, (outputs.argmax(dim=1) == test_y).float().mean().item())
