"""Statistics of small tensors, batched by size.

Calling an operator takes as long as processing thousands of elements, so a model with many small
tensors would be slow one by one.
"""

import math
from collections.abc import Mapping

import torch


def measure_batched(tensors: Mapping[str, torch.Tensor], max_values: int) -> dict[str, list[float]]:
    """Compute rows of finite tensors in host memory that share their size with others.

    Args:
        tensors: All tensors; those that cannot be batched are skipped.
        max_values: Elements per batch; larger ones would use torch's threads.
    """
    groups: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        if _is_dense(tensor) and 0 < tensor.numel() <= max_values // 2:
            groups.setdefault(tensor.numel(), []).append(name)
    results: dict[str, list[float]] = {}
    for count, names in groups.items():
        batch_size = max_values // count
        for start in range(0, len(names), batch_size):
            batch = names[start : start + batch_size]
            if len(batch) > 1:
                rows = _rows(torch.stack([tensors[name].reshape(-1) for name in batch]))
                results |= {name: row for name, row in zip(batch, rows, strict=True) if row}
    return results


def _is_dense(tensor: torch.Tensor) -> bool:
    is_plain = type(tensor) is torch.Tensor and tensor.is_cpu and not tensor.is_nested
    return is_plain and tensor.layout is torch.strided and tensor.dtype is torch.float32


def _rows(stacked: torch.Tensor) -> list[list[float]]:
    """Return rows in column order; empty if a value is not finite."""
    lows, highs = torch.amin(stacked, 1).tolist(), torch.amax(stacked, 1).tolist()
    wide = stacked.to(torch.float64)
    totals = torch.sum(wide, 1).tolist()
    torch.abs(wide, out=wide)
    nearest = torch.amin(wide, 1).tolist()
    absolutes = torch.sum(wide, 1).tolist()
    torch.mul(wide, wide, out=wide)
    squares = torch.sum(wide, 1).tolist()
    zeros = [0] * len(lows)
    if 0.0 in nearest:
        zeros = torch.sum(torch.eq(stacked, 0.0, out=wide), 1).tolist()
    columns = zip(zeros, lows, highs, nearest, totals, squares, absolutes, strict=True)
    return [
        [stacked.shape[1], 0, 0, *row] if row[1] > -math.inf and row[2] < math.inf else []
        for row in columns
    ]
