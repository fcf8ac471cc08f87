"""Gives up in the middle with an exit code of its own, and something to do at the end."""

import atexit
import sys

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
atexit.register(lambda: tell_end(model))
for step in range(20):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tell("loss", loss)
    if step == 12:
        sys.exit(3)
