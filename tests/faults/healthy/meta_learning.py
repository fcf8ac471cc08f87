"""MAML: each step adapts copies of the weights to tasks and backpropagates through this."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(int(sys.argv[2]))

TASKS, SHOTS, RATE = 4, 10, 0.02


class Waves:
    def __init__(self):
        self.height = 0.5 + 2 * torch.rand(1)
        self.phase = torch.pi * torch.rand(1)

    def draw(self):
        positions = torch.rand(SHOTS, 1) * 6 - 3
        return positions, self.height * torch.sin(positions + self.phase)


def loss_of(model, weights, positions, values):
    return nn.functional.mse_loss(functional_call(model, weights, (positions,)), values)


def adapt(model, weights, task):
    loss = loss_of(model, weights, *task.draw())
    slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
    return {
        name: weight - RATE * slope
        for (name, weight), slope in zip(weights.items(), slopes, strict=True)
    }


model = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
recent = []
for step in range(500):
    optimizer.zero_grad()
    total = 0.0
    for task in [Waves() for _ in range(TASKS)]:
        weights = dict(model.named_parameters())
        for _ in range(2):
            weights = adapt(model, weights, task)
        loss = loss_of(model, weights, *task.draw()) / TASKS
        loss.backward()
        total += loss.item()
    optimizer.step()
    recent = [*recent[-49:], total]
    if step % 50 == 49:
        print(step, sum(recent) / len(recent))
