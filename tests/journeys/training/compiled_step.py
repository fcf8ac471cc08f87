"""The whole step compiled: forward, backward and the optimizer."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))


@torch.compile(backend="aot_eager")
def train(points: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Run one training step."""
    loss = nn.functional.mse_loss(model(points), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


for step in range(10):
    points = torch.randn(16, 8)
    print_value("loss", train(points, points.sum(1, keepdim=True)))
print("graph breaks", sum(torch._dynamo.utils.counters["graph_break"].values()))
print("graphs", torch._dynamo.utils.counters["stats"]["unique_graphs"])
print_final_state(model, optimizer)
