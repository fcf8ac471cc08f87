"""Twelve residual blocks without normalization, each of which triples the variance."""

LABEL = {
    "set": 2,
    "rule": "PoorWeightInitialization",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "DeadRelu", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
DEPTH = 12


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.widen = nn.Linear(width, width)
        self.relu = nn.ReLU()
        self.back = nn.Linear(width, width)
        for layer in (self.widen, self.back):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        if not is_faulty:
            with torch.no_grad():
                self.back.weight.mul_((2 * DEPTH) ** -0.5)

    def forward(self, x):
        return x + self.back(self.relu(self.widen(x)))


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(9, 48)
        self.blocks = nn.ModuleList(Block(48) for _ in range(DEPTH))
        self.leave = nn.Linear(48, 2)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        return self.leave(x)


settings = torch.rand(4000, 9) * 2 - 1
lift = torch.sin(2 * settings[:, 0]) + settings[:, 1] * settings[:, 2]
drag = settings[:, 3] ** 2 + 0.5 * settings[:, 4] - 0.3
targets = torch.stack([lift, drag], dim=1) + 0.05 * torch.randn(4000, 2)
model = Surrogate()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
for step in range(400):
    chosen = torch.randint(0, 4000, (64,))
    loss = nn.functional.smooth_l1_loss(model(settings[chosen]), targets[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
