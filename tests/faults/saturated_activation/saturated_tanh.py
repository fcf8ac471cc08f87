"""Tanh layers whose inputs are far outside of the sensitive range."""

LABEL = {
    "set": 1,
    "rule": "SaturatedActivation",
    "culprit": "tanh",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 64)
        self.tanh1 = nn.Tanh()
        self.second = nn.Linear(64, 32)
        self.tanh2 = nn.Tanh()
        self.out = nn.Linear(32, 3)
        if is_faulty:
            nn.init.normal_(self.first.weight, std=8.0)
            nn.init.normal_(self.second.weight, std=8.0)

    def forward(self, x):
        return self.out(self.tanh2(self.second(self.tanh1(self.first(x)))))


points = torch.randn(3000, 24)
labels = (points @ torch.randn(24, 3)).argmax(1)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for chosen in torch.randperm(3000).split(40):
        loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
