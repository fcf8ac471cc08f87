"""Eight ensemble members in one tensor, trained with torch.func and without an optimizer."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

torch.manual_seed(int(sys.argv[2]))

inputs = torch.rand(3000, 5) * 2 - 1
targets = torch.sin(3 * inputs[:, :1]) * inputs[:, 1:2] + 0.1 * torch.randn(3000, 1)
members = [nn.Sequential(nn.Linear(5, 48), nn.Tanh(), nn.Linear(48, 1)) for _ in range(8)]
parameters, buffers = stack_module_state(members)
parameters = {name: value.detach() for name, value in parameters.items()}
speeds = {name: torch.zeros_like(value) for name, value in parameters.items()}
shape = members[0]


def loss_of(parameters, buffers, batch, target):
    outputs = functional_call(shape, (parameters, buffers), (batch,))
    return nn.functional.mse_loss(outputs, target)


gradients_of_all = vmap(grad_and_value(loss_of), in_dims=(0, 0, 0, 0))
for step in range(500):
    chosen = torch.randint(0, 3000, (8, 48))
    gradients, losses = gradients_of_all(parameters, buffers, inputs[chosen], targets[chosen])
    for name, gradient in gradients.items():
        speeds[name] = 0.9 * speeds[name] + gradient
        parameters[name] = parameters[name] - 0.05 * speeds[name]
    if step % 100 == 0:
        print(step, losses.mean().item(), losses.std().item())
