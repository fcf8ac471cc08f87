"""A custom optimizer that is not a torch.optim.Optimizer."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn


class SignDescent:
    """Changes every weight by the same distance."""

    def __init__(self, parameters: list[nn.Parameter], distance: float) -> None:
        self.parameters = parameters
        self.distance = distance

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter.add_(parameter.grad.sign(), alpha=-self.distance)
            parameter.grad = None


seed_all()
model = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 3))
optimizer = SignDescent(list(model.parameters()), 0.01)
for step in range(20):
    points = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(model(points), points[:, :3].argmax(1))
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
print_final_state(model)
