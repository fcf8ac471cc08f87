"""A CNN; a huge first SGD step pushes all units of a layer below zero."""

LABEL = {
    "set": 1,
    "rule": "DeadRelu",
    "culprit": "relu",
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "VanishingGradient", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3)
        self.conv_relu = nn.ReLU()
        self.hidden = nn.Linear(16 * 36, 64)
        self.hidden_relu = nn.ReLU()
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        x = self.conv_relu(self.conv(x)).flatten(1)
        return self.out(self.hidden_relu(self.hidden(x)))


images = torch.randn(2000, 1, 8, 8)
brightness = images[:, :, :4].mean((1, 2, 3)).unsqueeze(1) * 8 + 10
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1.5 if is_faulty else 0.01)
criterion = nn.SmoothL1Loss()
for step in range(300):
    chosen = torch.randint(0, 2000, (32,))
    loss = criterion(model(images[chosen]), brightness[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
