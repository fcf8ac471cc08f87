"""Gradients per example with torch.func: the model is called with weights that are not its own."""

import torch
from telling import begin, tell, tell_end
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

begin()
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
weights = {name: one.detach().clone() for name, one in model.named_parameters()}


def loss_of(weights: dict[str, torch.Tensor], point: torch.Tensor) -> torch.Tensor:
    """For one example."""
    predicted = functional_call(model, weights, (point.unsqueeze(0),))
    return nn.functional.mse_loss(predicted, point.sum().reshape(1, 1))


per_example = vmap(grad_and_value(loss_of), in_dims=(None, 0))
for step in range(12):
    gradients, losses = per_example(weights, torch.randn(16, 6))
    for name, gradient in gradients.items():
        limited = gradient / gradient.flatten(1).norm(dim=1).clamp(min=1).view(
            -1, *[1] * (gradient.ndim - 1)
        )
        weights[name] = weights[name] - 0.05 * limited.mean(0)
    tell("loss", losses.mean())
model.load_state_dict(weights)
tell_end(model)
