"""A curriculum: the loss jumps when tasks become harder, as intended."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Copier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 32, batch_first=True)
        self.out = nn.Linear(32, 8)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


model = Copier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(360):
    delay = 1 + step // 120
    tokens = torch.randint(0, 8, (32, 10))
    output = model(nn.functional.one_hot(tokens, 8).float())[:, delay:]
    loss = nn.functional.cross_entropy(output.flatten(0, 1), tokens[:, :-delay].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(step, loss.item())
