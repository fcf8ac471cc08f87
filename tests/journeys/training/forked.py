"""Trains, then forks: child and parent continue with the same weights."""

import os
import sys

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(steps: int) -> None:
    """Train for a number of steps."""
    for _ in range(steps):
        points = torch.randn(16, 6)
        loss = nn.functional.mse_loss(model(points), points.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print_value("loss", loss)


train(10)
child = os.fork()
if child == 0:
    seed_all(1)  # Python reseeds its generator in every child
    train(10)
    print_final_state(model, optimizer)
    sys.exit(5)
_, status = os.waitpid(child, 0)
print("the child ended with", os.waitstatus_to_exitcode(status), flush=True)
train(10)
print_final_state(model, optimizer)
