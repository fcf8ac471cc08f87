"""Each parameter has its own optimizer, which steps inside backward and frees the gradient."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizers = {one: torch.optim.Adam([one], lr=0.01, foreach=False) for one in model.parameters()}


def step_now(parameter: torch.Tensor) -> None:
    """Called as soon as a gradient is complete."""
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step_now)

for step in range(20):
    points = torch.randn(16, 8)
    loss = nn.functional.l1_loss(model(points), points.prod(1, keepdim=True))
    loss.backward()
    tell("loss", loss)
    print("gradients left", sum(one.grad is not None for one in model.parameters()))
tell_end(model, *optimizers.values())
