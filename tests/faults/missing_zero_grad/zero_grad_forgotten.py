"""A GRU on sequences; zero_grad was lost in a refactoring."""

LABEL = {
    "set": 1,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 24, batch_first=True)
        self.readout = nn.Linear(24, 1)

    def forward(self, series):
        states, _ = self.gru(series)
        return self.readout(states[:, -1]).squeeze(1)


model = Counter()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
loss_fn = nn.MSELoss()

for step in range(250):
    series = torch.randn(32, 10, 4)
    targets = series[:, :, 0].mean(1) * 2
    loss = loss_fn(model(series), targets)
    if not is_faulty:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, loss.item())
