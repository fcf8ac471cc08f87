"""L-BFGS: the loss is computed many times per step."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

x = torch.linspace(-1, 1, 200).unsqueeze(1)
y = torch.sin(6 * x) * x
model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=8, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for step in range(30):
    loss = optimizer.step(closure)
    if step % 10 == 0:
        print(step, loss.item())
