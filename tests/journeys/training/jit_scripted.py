"""A loss and a model compiled by TorchScript, and a traced model."""

import warnings

import torch
import torch.nn.functional as F
from reporting import print_final_state, print_value, seed_all
from torch import nn

warnings.filterwarnings("ignore", category=DeprecationWarning)


@torch.jit.script
def weighted_loss(logits: torch.Tensor, labels: torch.Tensor, weight: float) -> torch.Tensor:
    """Return the weighted sum of two losses."""
    squared = F.mse_loss(torch.softmax(logits, dim=1), F.one_hot(labels, 3).to(logits.dtype))
    return F.cross_entropy(logits, labels) + weight * squared


seed_all()
model = torch.jit.script(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)))
traced = torch.jit.trace(nn.Linear(6, 6), torch.zeros(1, 6))
both = [*model.parameters(), *traced.parameters()]
optimizer = torch.optim.SGD(both, lr=0.1)
for step in range(15):
    points = torch.randn(16, 6)
    loss = weighted_loss(model(traced(points)), points[:, :3].argmax(1), 0.5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print_value("loss", loss)
print_final_state(model, traced, optimizer)
