"""Per-sample gradients with torch.func: the model is called with other weights."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

seed_all()
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def loss_of(weights: dict[str, torch.Tensor], point: torch.Tensor) -> torch.Tensor:
    """Return the loss of one sample."""
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
    print_value("loss", losses.mean())
model.load_state_dict(weights)
print_final_state(model)
