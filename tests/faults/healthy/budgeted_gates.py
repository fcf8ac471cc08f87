"""Feature selection with gates; a penalty grows while their budget is exceeded."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
BUDGET = 0.5

signs = torch.randint(0, 3, (4000,))
columns = torch.randn(4000, 30)
columns[:, :10] += 1.3 * torch.randn(3, 10)[signs]
columns = (columns - columns.mean(dim=0)) / columns.std(dim=0)
loader = DataLoader(TensorDataset(columns, signs), 80, shuffle=True)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Parameter(torch.full((30,), 1.5))
        self.enter = nn.Linear(30, 64)
        self.leave = nn.Linear(64, 3)

    def forward(self, x):
        opened = torch.sigmoid(self.gates)
        hidden = nn.functional.silu(self.enter(x * opened))
        return self.leave(hidden), opened.mean()


model = Gated()
price = nn.Parameter(torch.zeros(()))
weights = torch.optim.Adam(
    [
        {"params": [model.gates], "lr": 0.01},
        {"params": [*model.enter.parameters(), *model.leave.parameters()]},
    ],
    lr=5e-4,
)
prices = torch.optim.SGD([price], lr=0.01, maximize=True)
for epoch in range(8):
    for sample, sign in loader:
        logits, used = model(sample)
        loss = nn.functional.cross_entropy(logits, sign)
        lagrangian = loss + price * (used - BUDGET)
        weights.zero_grad()
        prices.zero_grad()
        lagrangian.backward()
        weights.step()
        prices.step()
        with torch.no_grad():
            price.clamp_(min=0)
    print(epoch, round(loss.item(), 4), round(used.item(), 3), round(price.item(), 4))
