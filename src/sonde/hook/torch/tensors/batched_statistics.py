"""Statistics of small tensors, those of one size together.

To call an operator takes as long as it then needs for thousands of numbers: a model of many small
tensors would be paid for by their number.
"""

import math
from collections.abc import Mapping

import torch


def rows_of_small_ones(
    tensors: Mapping[str, torch.Tensor], most_numbers: int
) -> dict[str, list[float]]:
    """Rows of finite tensors in the host's memory that have their size in common with others.

    Args:
        tensors: All of them; what does not fit is left to others.
        most_numbers: At once: more would be shared among threads.
    """
    groups: dict[int, list[str]] = {}
    for name, tensor in tensors.items():
        if _is_dense(tensor) and 0 < tensor.numel() <= most_numbers // 2:
            groups.setdefault(tensor.numel(), []).append(name)
    found: dict[str, list[float]] = {}
    for count, names in groups.items():
        at_once = most_numbers // count
        for start in range(0, len(names), at_once):
            some = names[start : start + at_once]
            if len(some) > 1:
                rows = _rows(torch.stack([tensors[name].reshape(-1) for name in some]))
                found |= {name: row for name, row in zip(some, rows, strict=True) if row}
    return found


def _is_dense(tensor: torch.Tensor) -> bool:
    is_plain = type(tensor) is torch.Tensor and tensor.is_cpu and not tensor.is_nested
    return is_plain and tensor.layout is torch.strided and tensor.dtype is torch.float32


def _rows(together: torch.Tensor) -> list[list[float]]:
    """In the order of the columns; empty where not all is finite."""
    lows, highs = torch.amin(together, 1).tolist(), torch.amax(together, 1).tolist()
    wide = together.to(torch.float64)
    totals = torch.sum(wide, 1).tolist()
    torch.abs(wide, out=wide)
    nearest = torch.amin(wide, 1).tolist()
    absolutes = torch.sum(wide, 1).tolist()
    torch.mul(wide, wide, out=wide)
    squares = torch.sum(wide, 1).tolist()
    zeros = [0] * len(lows)
    if 0.0 in nearest:
        zeros = torch.sum(torch.eq(together, 0.0, out=wide), 1).tolist()
    columns = zip(zeros, lows, highs, nearest, totals, squares, absolutes, strict=True)
    return [
        [together.shape[1], 0, 0, *row] if row[1] > -math.inf and row[2] < math.inf else []
        for row in columns
    ]
