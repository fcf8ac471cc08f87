"""A recurrent network computes sums modulo five of digit sequences that get longer."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
BASE = 5


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.digits = nn.Embedding(BASE, 16)
        self.memory = nn.GRU(16, 64, batch_first=True)
        self.answer = nn.Linear(64, BASE)

    def forward(self, row):
        return self.answer(self.memory(self.digits(row))[0])


model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
longest = 2
lately = []
for step in range(900):
    row = torch.randint(0, BASE, (64, longest))
    slips = torch.rand(row.shape) < 0.05
    sums = torch.where(slips, torch.randint_like(row, 0, BASE), row.cumsum(1) % BASE)
    loss = criterion(model(row).flatten(0, 1), sums.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    lately.append(loss.item())
    if step % 60 == 59:
        print(f"{step + 1}: up to {longest} digits, {sum(lately[-60:]) / 60:.3f}")
        longest = min(longest + 1, 14)
