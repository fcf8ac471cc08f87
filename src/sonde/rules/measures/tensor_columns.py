"""Concatenated columns of many tensors, to check all of them with one array operation."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from sonde.read.window import WindowTensor
from sonde.records.arrays import FloatArray, IntArray

Value = TypeVar("Value")


def column_of_all(tensors: Sequence[WindowTensor], name: str) -> FloatArray:
    """Return a column of all tensors, concatenated. There must be at least one tensor."""
    joined = np.concatenate([tensor.rows.columns[name] for tensor in tensors])
    return joined.astype(np.float64, copy=False)


def steps_of_all(tensors: Sequence[WindowTensor]) -> IntArray:
    """Return the steps of all tensors, concatenated as in `column_of_all`."""
    return np.concatenate([tensor.rows.steps for tensor in tensors])


def by_tensor(
    tensors: Sequence[WindowTensor], values: Sequence[Value]
) -> Iterator[tuple[WindowTensor, Sequence[Value]]]:
    """Yield each tensor with its slice of a concatenated column."""
    start = 0
    for tensor in tensors:
        end = start + len(tensor.rows.steps)
        yield tensor, values[start:end]
        start = end
