"""Evolution strategies: rewards of many trials replace the gradient."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn
from torch.func import functional_call, vmap
from torch.nn.utils import parameters_to_vector

torch.manual_seed(int(sys.argv[2]))
PAIRS, STARTS, TIMES, SPREAD = 32, 16, 25, 0.08

policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
shapes = {name: parameter.shape for name, parameter in policy.named_parameters()}
optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)


def named(vector):
    parts = vector.split([shape.numel() for shape in shapes.values()])
    return {name: part.view(shapes[name]) for name, part in zip(shapes, parts, strict=True)}


def cost(vector, starts):
    position, speed = starts[:, :1], starts[:, 1:]
    total = 0.0
    for _ in range(TIMES):
        push = functional_call(policy, named(vector), torch.cat([position, speed], dim=1)).tanh()
        speed = 0.98 * speed + 0.2 * push
        position = position + 0.2 * speed
        total = total + (position**2 + 0.1 * speed**2 + 0.01 * push**2).mean()
    return total / TIMES


costs_of = vmap(cost, in_dims=(0, None))
average = None
for generation in range(260):
    with torch.no_grad():
        center = parameters_to_vector(policy.parameters())
        noise = torch.randn(PAIRS, len(center))
        starts = torch.randn(STARTS, 2)
        costs = costs_of(torch.cat([center + SPREAD * noise, center - SPREAD * noise]), starts)
        better = costs[:PAIRS] - costs[PAIRS:]
        gradient = (better / (costs.std() + 1e-8)) @ noise / PAIRS
    optimizer.zero_grad()
    offset = 0
    for parameter in policy.parameters():
        size = parameter.numel()
        parameter.grad = gradient[offset : offset + size].view_as(parameter).clone()
        offset += size
    optimizer.step()
    mean = costs.mean().item()
    average = mean if average is None else 0.95 * average + 0.05 * mean
    if generation % 40 == 39:
        print(generation, average)
with torch.no_grad():
    vector = parameters_to_vector(policy.parameters())
    print("in the end", cost(vector, torch.randn(500, 2)).item())
