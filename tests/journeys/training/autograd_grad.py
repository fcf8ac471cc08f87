"""Gradients from torch.autograd.grad and an update by hand: no backward, no optimizer."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(6, 12), nn.Softplus(), nn.Linear(12, 1))
parameters = list(model.parameters())
for step in range(20):
    points = torch.randn(16, 6)
    loss = nn.functional.huber_loss(model(points), points.sum(1, keepdim=True))
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    penalty = sum(one.square().sum() for one in gradients)  # of the second order
    gradients = torch.autograd.grad(loss + 0.01 * penalty, parameters)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter -= 0.05 * gradient
    tell("loss", loss)
    tell("penalty", penalty)
tell_end(model)
