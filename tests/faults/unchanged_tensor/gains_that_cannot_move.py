"""A network in bfloat16, in which a gain of one cannot change by a thousandth."""

LABEL = {
    "set": 1,
    "rule": "UnchangedTensor",
    "alternatives": ["ParameterNotUpdated"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

kind = torch.bfloat16 if is_faulty else torch.float32
teacher = torch.randn(20, 6) / 4


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, values):
        return values + self.narrow(nn.functional.silu(self.widen(self.norm(values))))


model = nn.Sequential(nn.Linear(20, 64), Block(64), Block(64), nn.LayerNorm(64), nn.Linear(64, 6))
model.to(kind)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
for step in range(900):
    points = torch.randn(64, 20)
    targets = torch.sin(2 * points @ teacher)
    outputs = model(points.to(kind)).float()
    loss = nn.functional.smooth_l1_loss(outputs, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        gains = model[1].norm.weight.float()
        print(step, loss.item(), gains.min().item(), gains.max().item())
