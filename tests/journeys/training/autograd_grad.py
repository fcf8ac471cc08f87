"""Gradients from torch.autograd.grad and a manual update: no backward call, no optimizer."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(nn.Linear(6, 12), nn.Softplus(), nn.Linear(12, 1))
parameters = list(model.parameters())
for step in range(20):
    points = torch.randn(16, 6)
    loss = nn.functional.huber_loss(model(points), points.sum(1, keepdim=True))
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    penalty = sum(value.square().sum() for value in gradients)  # second-order gradients
    gradients = torch.autograd.grad(loss + 0.01 * penalty, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter -= 0.05 * gradient
    print_value("loss", loss)
    print_value("penalty", penalty)
print_final_state(model)
