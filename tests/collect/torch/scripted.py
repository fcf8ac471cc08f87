"""A function for TorchScript, which reads its source."""

import torch.nn.functional as F  # noqa: N812 — as everybody writes it
from torch import Tensor


def loss(points: Tensor, labels: Tensor) -> Tensor:
    """Two losses in one."""
    return F.cross_entropy(points, labels) + F.nll_loss(F.log_softmax(points, dim=1), labels)
