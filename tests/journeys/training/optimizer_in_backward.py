"""Each parameter has its own optimizer, which steps inside backward and frees the gradient."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizers = {
    weight: torch.optim.Adam([weight], lr=0.01, foreach=False) for weight in model.parameters()
}


def step_now(parameter: torch.Tensor) -> None:
    """Update a parameter as soon as its gradient is complete."""
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_now)

for step in range(20):
    points = torch.randn(16, 8)
    loss = nn.functional.l1_loss(model(points), points.prod(1, keepdim=True))
    loss.backward()
    print_value("loss", loss)
    print("gradients left", sum(weight.grad is not None for weight in model.parameters()))
print_final_state(model, *optimizers.values())
