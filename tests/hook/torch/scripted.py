"""A function for TorchScript, which reads its source."""

import torch
import torch.nn.functional as F  # noqa: N812 — the conventional name
from torch import Tensor


def loss(points: Tensor, labels: Tensor) -> Tensor:
    """Return the sum of two losses."""
    return F.cross_entropy(points, labels) + F.nll_loss(F.log_softmax(points, dim=1), labels)


def activated(points: Tensor) -> Tensor:
    """Apply activation functions in every way that they can be called."""
    points = F.relu(torch.relu(points)) + torch.tanh(points).sigmoid() + F.silu(points)
    return F.gelu(points) + F.relu6(points) + points.tanh() + F.elu(points) + torch.relu_(points)
