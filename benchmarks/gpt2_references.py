"""Usual ways to get statistics of all weights and gradients at every step, without Sonde."""

from collections.abc import Callable, Sequence

import torch
from torch import _foreach_norm

_BINS = 64
_ORDERS = (1.0, 2.0, float("inf"))

Tensors = Sequence[torch.Tensor]
Measure = Callable[[Tensors], None]


def three_norms(tensors: Tensors) -> None:
    """Three norms of all tensors at once, copied without waiting."""
    listed = list(tensors)
    norms = [torch.stack(_foreach_norm(listed, order)) for order in _ORDERS]
    found = torch.stack(norms)
    kept = torch.empty(found.shape, dtype=found.dtype, pin_memory=found.is_cuda)
    kept.copy_(found, non_blocking=True)


def items(tensors: Tensors) -> None:
    """Four numbers of each tensor, fetched one by one."""
    for tensor in tensors:
        for reduce in (torch.min, torch.max, torch.mean, torch.std):
            reduce(tensor).item()


def histograms(tensors: Tensors) -> None:
    """A histogram of each tensor between its extremes, as trackers log them."""
    for tensor in tensors:
        flat = tensor.float().flatten()
        low, high = flat.min().item(), flat.max().item()
        torch.histc(flat, _BINS, low, high).cpu().tolist()


REFERENCES: dict[str, Measure] = {
    "three foreach norms": three_norms,
    "four .item() per tensor": items,
    "a histogram per tensor": histograms,
}
