"""A network solves a differential equation: first with Adam, then with L-BFGS."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

network = nn.Sequential(
    *(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
)
edges = torch.tensor([[-1.0], [1.0]])
inside = torch.linspace(-1, 1, 64).unsqueeze(1).requires_grad_()


def residual():
    heights = network(inside)
    slopes = torch.autograd.grad(heights.sum(), inside, create_graph=True)[0]
    bends = torch.autograd.grad(slopes.sum(), inside, create_graph=True)[0]
    misfit = bends + 4 * heights + 6 * torch.sin(torch.pi * inside.detach())
    return misfit.pow(2).mean() + 10 * network(edges).pow(2).mean()


optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
for step in range(400):
    loss = residual()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(f"Adam {step + 1}: {loss.item():.5f}")

finisher = torch.optim.LBFGS(
    network.parameters(), max_iter=8, history_size=20, line_search_fn="strong_wolfe"
)


def closure():
    finisher.zero_grad()
    loss = residual()
    loss.backward()
    return loss


for step in range(20):
    loss = finisher.step(closure)
print(f"L-BFGS: {loss.item():.6f}")
