"""A mixture of experts: each token is routed to one; some experts get none in a batch."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Experts(nn.Module):
    def __init__(self, count=6):
        super().__init__()
        self.router = nn.Linear(16, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 16)) for _ in range(count)
        )
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        share = torch.softmax(self.router(x), dim=1)
        chosen = torch.multinomial(share, 1).squeeze(1) if self.training else share.argmax(1)
        mixed = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(1)
            if len(rows):
                mixed = mixed.index_add(0, rows, expert(x[rows]) * share[rows, number : number + 1])
        return self.out(x + mixed)


model = Experts()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(250):
    points = torch.randn(12, 16)
    labels = (points[:, 0] * points[:, 1] + points[:, 2] > 0).long()
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
