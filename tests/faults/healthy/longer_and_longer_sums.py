"""Add the marked numbers of sequences that get longer once short ones are learned."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


def sums(number, length):
    values = torch.rand(number, length)
    marks = torch.zeros(number, length)
    marks.scatter_(1, torch.rand(number, length).topk(2, dim=1).indices, 1.0)
    return torch.stack([(values - 0.5) / 0.29, marks], 2), (values * marks).sum(1)


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(2, 48, batch_first=True)
        self.out = nn.Linear(48, 1)

    def forward(self, x):
        return self.out(self.memory(x)[0][:, -1]).squeeze(1)


model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
length, mean = 6, 0.17
for step in range(1, 1101):
    x, y = sums(48, length)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    mean = 0.97 * mean + 0.03 * loss.item()
    if step % 50 == 0:
        print(f"step {step}: length {length}, loss {mean:.4f}")
    if mean < 0.01 and length < 40:
        length, mean = int(length * 1.5), 0.1
