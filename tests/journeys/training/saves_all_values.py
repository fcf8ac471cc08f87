"""Saves weights, gradients, optimizer state, activations, rates and norms of every step."""

import numpy as np
import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn


class Net(nn.Module):
    """A network with readable parameter names."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(16, 4)
        self.scale = nn.Parameter(torch.ones(4, dtype=torch.float64))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        account["input"].append(points.numpy().copy())
        hidden = self.relu(self.fc1(points))
        account["relu"].append(hidden.detach().numpy().copy())
        return self.fc2(hidden) * self.scale.float()


account: dict[str, list[np.ndarray]] = {"input": [], "relu": [], "labels": []}


def note(name: str, value: torch.Tensor) -> None:
    """Append a value to a series."""
    account.setdefault(name, []).append(value.detach().numpy().copy())


seed_all()
model = Net()
groups = [
    {"params": list(model.fc1.parameters()), "lr": 0.2},
    {"params": [*model.fc2.parameters(), model.scale]},
]
optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
for step in range(12):
    points = torch.randn(16, 8)
    labels = points[:, :4].argmax(1)
    note("labels", labels)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    for name, parameter in model.named_parameters():
        note(name, parameter)
        note(f"gradient/{name}", parameter.grad)
        if step:
            state = optimizer.state[parameter]["momentum_buffer"]
            note(f"optimizer_state/momentum_buffer/{name}", state)
    gradients = [weight.grad.double().flatten() for weight in model.parameters()]
    print_value("norm", torch.cat(gradients).norm())
    for group, settings in enumerate(optimizer.param_groups):
        print_value(f"rate {group}", settings["lr"])
    optimizer.step()
    scheduler.step()
    print_value("loss", loss)
np.savez("account.npz", **{name: np.stack(values) for name, values in account.items()})
print_final_state(model, optimizer)
