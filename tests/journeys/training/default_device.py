"""A model created on the meta device, then on the default device, under context managers."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    """Counts every operator call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, int] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls[str(func)] = self.calls.get(str(func), 0) + 1
        return func(*args, **(kwargs or {}))


seed_all()
with torch.device("meta"):
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
torch.set_default_device("cpu")
model.to_empty(device="cpu")
with torch.no_grad():
    for parameter in model.parameters():
        parameter.normal_(0, 0.3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
counting = Counting()
for step in range(12):
    points = torch.randn(16, 6)
    with counting:
        loss = nn.functional.mse_loss(model(points), points.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print_value("loss", loss)
for name, count in counting.calls.items():
    print("operator", name, count)
print_final_state(model, optimizer)
