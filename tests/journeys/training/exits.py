"""Exits in the middle with an exit code and an atexit handler."""

import atexit
import sys

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
atexit.register(lambda: print_final_state(model))
for step in range(20):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
    if step == 12:
        sys.exit(3)
