"""A neural ODE of predators and prey, integrated with Runge-Kutta."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
STEP, LENGTH = 0.1, 12


def runge_kutta(slopes, state):
    first = slopes(state)
    second = slopes(state + STEP / 2 * first)
    third = slopes(state + STEP / 2 * second)
    fourth = slopes(state + STEP * third)
    return state + STEP / 6 * (first + 2 * second + 2 * third + fourth)


def nature(state):
    hares, lynxes = state.exp().unbind(dim=1)
    return torch.stack([1.1 - 0.8 * lynxes, 0.9 * hares - 1.0], dim=1)


def follow(slopes, state):
    states = []
    for _ in range(LENGTH):
        state = runge_kutta(slopes, state)
        states.append(state)
    return torch.stack(states)


class Slopes(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            *(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
        )

    def forward(self, state):
        return self.network(state)


slopes = Slopes()
optimizer = torch.optim.Adam(slopes.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 260, eta_min=1e-4)
for iteration in range(260):
    begin = 0.5 * torch.randn(64, 2)
    with torch.no_grad():
        seen = follow(nature, begin) + 0.02 * torch.randn(LENGTH, 64, 2)
    loss = (follow(slopes, begin) - seen).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if iteration % 40 == 0 or iteration == 259:
        print(iteration, loss.item())
