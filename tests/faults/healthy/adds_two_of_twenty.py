"""The adding problem: an LSTM stays at the variance of the targets for long, then learns."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.LSTM(2, 48, batch_first=True)
        self.out = nn.Linear(48, 1)

    def forward(self, sequence):
        return self.out(self.memory(sequence)[0][:, -1]).squeeze(1)


model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(900):
    values = torch.rand(50, 20)
    marks = torch.zeros(50, 20).scatter_(1, torch.rand(50, 20).topk(2, 1).indices, 1.0)
    output = model(torch.stack([values, marks], 2))
    loss = nn.functional.mse_loss(output, (values * marks).sum(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 100 == 0:
        print(step, loss.item())
