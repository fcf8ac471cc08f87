"""Statistics of tensors with torch operators: on any device, without waiting for it.

Used for what the kernel does not support (doubles, 8-bit types, strided views, sparse gradients),
and for everything if Triton is missing.
"""

import ctypes
import math
from array import array
from collections.abc import Callable, Mapping
from operator import methodcaller
from typing import Any

import torch

from sonde.hook.torch.tensors.statistics import Measured, plain, reason, with_implied_zeros
from sonde.store.statistics import BINS, COLUMNS, LEVELS, LOWEST_EXPONENT, encode_histogram

_SLICE = 1 << 24  # elements at once, to limit temporary memory
_LOWEST_CODE = 2 * (1023 + LOWEST_EXPONENT)
_CODE_SHIFT = 51  # leaves exponent and first mantissa bit of a double
_MAGNITUDE = (1 << 63) - 1

_new_event: Callable[[], Any] = torch.cuda.Event
_indices_of, _values_of = methodcaller("_indices"), methodcaller("_values")


class ByOperators:
    """Pending statistics; ready at once for host tensors."""

    def __init__(self, tensors: Mapping[str, torch.Tensor], with_histogram: bool) -> None:
        self._with_histogram = with_histogram
        self._left_out: dict[str, str] = {}
        self._sizes: dict[str, tuple[int, int]] = {}  # elements and implied zeros, by name
        rows = []
        for name, tensor in tensors.items():
            try:
                values, zeros = plain(_summed(tensor))
                rows.append(_row(values, with_histogram))
            except (RuntimeError, TypeError, ValueError) as error:
                self._left_out[name] = reason(error)
            else:
                self._sizes[name] = values.numel(), zeros
        self._event: Any = None
        self._rows: torch.Tensor | None = None
        if rows:
            self._fetch(torch.stack(rows))

    def is_ready(self) -> bool:
        """Return whether the device is done."""
        if self._event is not None and self._event.query():
            self._event = None
        return self._event is None

    def measured(self) -> Measured:
        """Return the statistics; waits if they are not ready."""
        if self._event is not None:
            self._event.synchronize()
        measured = Measured(left_out=self._left_out)
        if self._rows is None:
            return measured
        numbers = array("d")
        numbers.frombytes(ctypes.string_at(self._rows.data_ptr(), self._rows.nbytes))
        width = len(numbers) // len(self._sizes)
        for index, (name, (count, zeros)) in enumerate(self._sizes.items()):
            row = numbers[index * width : (index + 1) * width]
            values = [count, *row[: len(COLUMNS) - 1]]
            counts = map(int, row[len(COLUMNS) - 1 :])
            measured.add(name, with_implied_zeros(values, zeros), encode_histogram(counts))
        return measured

    def _fetch(self, rows: torch.Tensor) -> None:
        self._rows = rows
        if rows.is_cuda:
            self._rows = torch.empty(rows.shape, dtype=rows.dtype, device="cpu", pin_memory=True)
            self._rows.copy_(rows, non_blocking=True)
            self._event = _new_event()
            self._event.record(torch.cuda.current_stream(rows.device))


def _summed(tensor: torch.Tensor) -> torch.Tensor:
    """Convert an uncoalesced sparse gradient to a dense one; coalescing would wait."""
    if tensor.layout is not torch.sparse_coo or tensor.is_coalesced():
        return tensor
    sizes, rest = tensor.shape[: tensor.sparse_dim()], tensor.shape[tensor.sparse_dim() :]
    positions, *more = _indices_of(tensor).unbind()
    for size, indices in zip(sizes[1:], more, strict=True):
        positions = positions * size + indices
    dense = torch.zeros((math.prod(sizes), *rest), dtype=tensor.dtype, device=tensor.device)
    return dense.index_add_(0, positions, _values_of(tensor))


def _row(values: torch.Tensor, with_histogram: bool) -> torch.Tensor:
    """Compute all columns after the count and, if requested, the counts of all bins."""
    flat = values.reshape(-1)
    row = torch.zeros(len(COLUMNS) - 1, dtype=torch.float64, device=flat.device)
    row[3:6].fill_(math.inf)
    row[4].fill_(-math.inf)
    counts = torch.zeros(BINS + 1, dtype=torch.int64, device=flat.device)
    for start in range(0, len(flat), _SLICE):
        wide = flat[start : start + _SLICE].to(torch.float64)
        row = _merged(row, _piece(wide))
        if with_histogram:
            bins = _bins(wide)
            counts.index_add_(0, bins, torch.ones_like(bins))
    low, high = row[3], row[4]
    row[3:6] = torch.where(low <= high, row[3:6], math.nan)
    return torch.cat((row, counts[:BINS].to(torch.float64))) if with_histogram else row


def _piece(wide: torch.Tensor) -> torch.Tensor:
    is_finite = torch.isfinite(wide)
    clean = torch.where(is_finite, wide, 0.0)
    sizes = clean.abs()
    columns = (
        torch.isnan(wide).sum(),
        torch.isinf(wide).sum(),
        (wide == 0.0).sum(),
        torch.where(is_finite, wide, math.inf).amin(),
        torch.where(is_finite, wide, -math.inf).amax(),
        torch.where(is_finite, sizes, math.inf).amin(),
        clean.sum(),
        (clean * clean).sum(),
        sizes.sum(),
    )
    return torch.stack([column.to(torch.float64) for column in columns])


def _merged(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    merged = first + second
    torch.minimum(first[3:6], second[3:6], out=merged[3:6])
    torch.maximum(first[4], second[4], out=merged[4])
    return merged


def _bins(wide: torch.Tensor) -> torch.Tensor:
    """Return the bin of each value; zeros and non-finite values get an extra bin."""
    codes = (wide.view(torch.int64) & _MAGNITUDE) >> _CODE_SHIFT
    levels = (codes - _LOWEST_CODE).clamp_(0, LEVELS - 1)
    bins = torch.where(wide < 0.0, LEVELS - 1 - levels, LEVELS + levels)
    return torch.where(torch.isfinite(wide) & (wide != 0.0), bins, BINS)
