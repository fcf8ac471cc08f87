"""A loss and a model that TorchScript compiles, beside a traced one."""

import warnings

import torch
import torch.nn.functional as F
from telling import begin, tell, tell_end
from torch import nn

warnings.filterwarnings("ignore", category=DeprecationWarning)


@torch.jit.script
def weighted_loss(logits: torch.Tensor, labels: torch.Tensor, weight: float) -> torch.Tensor:
    """Two losses in one."""
    squared = F.mse_loss(torch.softmax(logits, dim=1), F.one_hot(labels, 3).to(logits.dtype))
    return F.cross_entropy(logits, labels) + weight * squared


begin()
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
    tell("loss", loss)
tell_end(model, traced, optimizer)
