"""Catches failures in forward, backward and the optimizer, and continues training."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn


class Refusing(torch.autograd.Function):
    """The identity, whose backward pass raises an exception."""

    @staticmethod
    def forward(context: object, points: torch.Tensor) -> torch.Tensor:
        return points.clone()

    @staticmethod
    def backward(context: object, gradient: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no gradient here")


seed_all()
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
for step in range(24):
    points = torch.randn(8, 5 if step % 6 == 1 else 4)
    optimizer.zero_grad()
    try:
        outputs = model(points)
        loss = (Refusing.apply(outputs) if step % 6 == 2 else outputs).square().mean()
        loss.backward()
        if step % 6 == 3:
            model[0].weight.grad = None
        if step % 6 == 4:
            loss.backward()  # the graph is gone
        optimizer.step(closure=(lambda: 1 / 0) if step % 6 == 5 else None)
    except (RuntimeError, ZeroDivisionError) as error:
        print("failed:", type(error).__name__, str(error).splitlines()[0])
    else:
        print_value("loss", loss)
print_final_state(model, optimizer)
