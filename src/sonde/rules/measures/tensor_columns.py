"""Columns of many tensors at once: that nothing is wrong with any of them is seen at a glance."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from sonde.read.window import WindowTensor
from sonde.records.arrays import FloatArray, IntArray

Value = TypeVar("Value")


def column_of_all(tensors: Sequence[WindowTensor], name: str) -> FloatArray:
    """A column of at least one tensor, one after the other."""
    joined = np.concatenate([tensor.rows.columns[name] for tensor in tensors])
    return joined.astype(np.float64, copy=False)


def steps_of_all(tensors: Sequence[WindowTensor]) -> IntArray:
    """The steps that go with such a column."""
    return np.concatenate([tensor.rows.steps for tensor in tensors])


def by_tensor(
    tensors: Sequence[WindowTensor], values: Sequence[Value]
) -> Iterator[tuple[WindowTensor, Sequence[Value]]]:
    """Each of them with its part of such a column."""
    start = 0
    for tensor in tensors:
        end = start + len(tensor.rows.steps)
        yield tensor, values[start:end]
        start = end
