"""The whole step compiled: forward, backward and the optimizer."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))


@torch.compile(backend="aot_eager")
def train(points: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """One step."""
    loss = nn.functional.mse_loss(model(points), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


for step in range(10):
    points = torch.randn(16, 8)
    tell("loss", train(points, points.sum(1, keepdim=True)))
print("graph breaks", sum(torch._dynamo.utils.counters["graph_break"].values()))
print("graphs", torch._dynamo.utils.counters["stats"]["unique_graphs"])
tell_end(model, optimizer)
