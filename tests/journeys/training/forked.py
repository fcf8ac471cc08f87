"""Trains, then forks: the child goes on with the same weights, and so does the parent."""

import os
import sys

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(steps: int) -> None:
    """A few more steps."""
    for _ in range(steps):
        points = torch.randn(16, 6)
        loss = nn.functional.mse_loss(model(points), points.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)


train(10)
child = os.fork()
if child == 0:
    begin(1)  # Python's own generator is seeded anew in every child
    train(10)
    tell_end(model, optimizer)
    sys.exit(5)
_, status = os.waitpid(child, 0)
print("the child ended with", os.waitstatus_to_exitcode(status), flush=True)
train(10)
tell_end(model, optimizer)
