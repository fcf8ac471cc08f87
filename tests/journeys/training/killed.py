"""Killed in the middle of a step, as by the kernel's out-of-memory killer."""

import os
import signal

import torch
from reporting import print_value, seed_all
from torch import nn

seed_all()
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(20):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    if step == 12:
        os.kill(os.getpid(), signal.SIGKILL)
    optimizer.step()
    print_value("loss", loss)
