"""Common ways to get statistics of all weights and gradients at every step without Sonde."""

from collections.abc import Callable, Sequence

import torch
from torch import _foreach_norm

_BINS = 64
_ORDERS = (1.0, 2.0, float("inf"))

Tensors = Sequence[torch.Tensor]
Measure = Callable[[Tensors], None]


def three_norms(tensors: Tensors) -> None:
    """Compute three norms of all tensors at once and copy them asynchronously."""
    listed = list(tensors)
    norms = [torch.stack(_foreach_norm(listed, order)) for order in _ORDERS]
    norms_by_order = torch.stack(norms)
    host_copy = torch.empty(
        norms_by_order.shape, dtype=norms_by_order.dtype, pin_memory=norms_by_order.is_cuda
    )
    host_copy.copy_(norms_by_order, non_blocking=True)


def items(tensors: Tensors) -> None:
    """Fetch four numbers of each tensor, one by one."""
    for tensor in tensors:
        for reduce in (torch.min, torch.max, torch.mean, torch.std):
            reduce(tensor).item()


def histograms(tensors: Tensors) -> None:
    """Compute a histogram of each tensor over its range, as experiment trackers do."""
    for tensor in tensors:
        flat = tensor.float().flatten()
        low, high = flat.min().item(), flat.max().item()
        torch.histc(flat, _BINS, low, high).cpu().tolist()


REFERENCES: dict[str, Measure] = {
    "three foreach norms": three_norms,
    "four .item() per tensor": items,
    "a histogram per tensor": histograms,
}
