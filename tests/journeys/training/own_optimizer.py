"""An optimizer that is no torch.optim.Optimizer."""

import torch
from telling import begin, tell, tell_end
from torch import nn


class SignDescent:
    """Moves every weight by the same distance."""

    def __init__(self, parameters: list[nn.Parameter], distance: float) -> None:
        self.parameters = parameters
        self.distance = distance

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter.add_(parameter.grad.sign(), alpha=-self.distance)
            parameter.grad = None


begin()
model = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 3))
optimizer = SignDescent(list(model.parameters()), 0.01)
for step in range(20):
    points = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(model(points), points[:, :3].argmax(1))
    loss.backward()
    optimizer.step()
    tell("loss", loss)
tell_end(model)
