"""Statistics of tensors on the CPU, in the calling thread, and the choice of backend.

Nothing here uses torch's own threads, which belong to training: a tensor is processed in chunks
that are too small for torch to parallelize.
"""

import ctypes
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import torch

from sonde.hook.torch.tensors.batched_statistics import measure_batched
from sonde.hook.torch.tensors.shards import local
from sonde.store.statistics import BINS, COLUMNS, LEVELS, LOWEST_EXPONENT, encode_histogram
from sonde.store.tensors import RawTensor

_CHUNK = 32_512  # torch shares work among its threads from 32,768 elements on
_COUNTS = 4  # the first columns are counts
_SMALLEST_NORMAL = 2.0**-1022

# The first 13 bits of a double: sign, exponent and first bit of the mantissa.
_CODES = 1 << 13
_CODE_SHIFT = 51
_EXPONENT_BIAS = 1023

_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)

_SAFETENSORS_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2": "F8_E5M2",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
}


@dataclass(slots=True)
class Measured:
    """Statistics of many tensors, by column."""

    names: list[str] = field(default_factory=list)
    columns: tuple["array[Any]", ...] = field(
        default_factory=lambda: tuple(
            array("q" if index < _COUNTS else "d") for index in range(len(COLUMNS))
        )
    )
    histograms: list[str] = field(default_factory=list)  # empty if not requested
    left_out: dict[str, str] = field(default_factory=dict)  # reasons by name

    def add(self, name: str, row: Sequence[float], histogram: str = "") -> None:
        """Add a tensor; the row is in column order."""
        self.names.append(name)
        self.histograms.append(histogram)
        for index, column in enumerate(self.columns):
            column.append(int(row[index]) if index < _COUNTS else row[index])

    def extend(self, added: "Measured") -> None:
        """Add all tensors of another measurement."""
        self.names += added.names
        self.histograms += added.histograms
        self.left_out |= added.left_out
        for column, values in zip(self.columns, added.columns, strict=True):
            column.extend(values)

    def rows(self, time_ns: int, step: int, mode: str) -> list[Sequence[Any]]:
        """Return all columns of the family, for `Writer.add_columns`."""
        count = len(self.names)
        times, steps = array("q", [time_ns]) * count, array("q", [step]) * count
        return [self.names, times, steps, [mode] * count, *self.columns, self.histograms]


@runtime_checkable
class Pending(Protocol):
    """Statistics that are being computed."""

    def is_ready(self) -> bool:
        """Return whether `measured` returns without waiting for a device.

        Call it in the training thread, between steps: querying a device, from any thread,
        would break a graph capture.
        """

    def measured(self) -> Measured:
        """Return the statistics; callable in any thread once they are ready."""


def measure(tensors: Mapping[str, torch.Tensor], with_histogram: bool) -> Measured:
    """Compute statistics of host tensors in this thread."""
    measured = Measured()
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        scratch = _Scratch(with_histogram)
        batched = {} if with_histogram else measure_batched(tensors, _CHUNK)
        for name, tensor in tensors.items():
            if name in batched:
                measured.add(name, batched[name])
                continue
            try:
                values, implied_zeros = plain(tensor)
                row = scratch.row(values)
            except (RuntimeError, TypeError, ValueError) as error:
                measured.left_out[name] = reason(error)
            else:
                measured.add(name, with_implied_zeros(row, implied_zeros), scratch.histogram())
    return measured


def launch(tensors: Mapping[str, torch.Tensor], with_histogram: bool) -> Pending:
    """Start computing statistics of tensors on any device; call it in the training thread.

    Host tensors are copied now and measured when the result is requested.
    """
    by_device: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        by_device.setdefault(tensor.get_device(), {})[name] = tensor
    pending: list[Pending] = []
    for device, group in by_device.items():
        if device < 0:
            pending.append(_Copied(group, with_histogram))
        else:
            cuda = import_module("sonde.hook.torch.tensors.statistics_cuda")
            pending.append(cuda.launch(group, with_histogram))
    return pending[0] if len(pending) == 1 else Combined(pending)


class Combined:
    """Several pending statistics."""

    def __init__(self, pending: Sequence[Pending]) -> None:
        self._pending = pending

    def is_ready(self) -> bool:
        """Return whether all are ready."""
        return all(pending.is_ready() for pending in self._pending)

    def measured(self) -> Measured:
        """Return the statistics of all."""
        combined = Measured()
        for pending in self._pending:
            combined.extend(pending.measured())
        return combined


class _Copied:
    """Copies of host tensors."""

    def __init__(self, tensors: Mapping[str, torch.Tensor], with_histogram: bool) -> None:
        with torch.no_grad():
            self._tensors = {
                name: local(tensor).detach().clone() for name, tensor in tensors.items()
            }
        self._with_histogram = with_histogram

    def is_ready(self) -> bool:
        """Return True, since no device is involved."""
        return True

    def measured(self) -> Measured:
        """Compute the statistics."""
        return measure(self._tensors, self._with_histogram)


def plain(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Return a dense real tensor in memory order, and the number of implied zeros."""
    count = 0
    tensor = local(tensor).detach()
    if tensor.is_quantized or tensor.is_nested or tensor.is_meta:
        kind = "quantized" if tensor.is_quantized else "nested" if tensor.is_nested else "meta"
        raise TypeError(f"{kind} tensors have no plain values")
    if tensor.layout is torch.sparse_coo or tensor.layout in _COMPRESSED:
        count = tensor.numel()
        tensor = tensor.coalesce() if tensor.layout is torch.sparse_coo else tensor
        tensor = tensor.values()
        count -= tensor.numel()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if not tensor.is_contiguous():
        strides = tensor.stride()
        tensor = tensor.permute(
            sorted(range(tensor.dim()), key=lambda dimension: -strides[dimension])
        )
    return tensor.resolve_neg(), count


def with_implied_zeros(row: Sequence[float], zeros: int) -> list[float]:
    """Add the zeros that a sparse tensor does not store to a row."""
    result = list(row)
    if zeros:
        low, high = result[4:6]
        result[0] += zeros
        result[3] += zeros
        result[4:7] = [min(0.0, low), max(0.0, high), 0.0]
    return result


def reason(error: Exception) -> str:
    """Return the error as one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def raw_tensor(tensor: torch.Tensor) -> RawTensor:
    """Return the bytes of a host tensor, with their dtype name for safetensors.

    Complex types without a safetensors name become pairs of real numbers.

    Raises:
        TypeError: The element type has no safetensors name.
    """
    with torch.no_grad():
        tensor = local(tensor).detach()
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        if tensor.dtype in (torch.complex32, torch.complex128):
            tensor = torch.view_as_real(tensor.resolve_conj())
        name = _SAFETENSORS_NAMES.get(str(tensor.dtype).removeprefix("torch."))
        if name is None:
            raise TypeError(f"{tensor.dtype} has no name in safetensors files")
        tensor = tensor.resolve_conj().resolve_neg()
        return RawTensor(name, tuple(tensor.shape), _memory_of(tensor.contiguous()))


def _memory_of(tensor: torch.Tensor) -> memoryview:
    """Return a view of the tensor's memory: copying large ones would hold the GIL."""
    memory: Any = (ctypes.c_char * tensor.nbytes).from_address(tensor.data_ptr())
    memory.tensor = tensor  # keeps the tensor alive as long as the view
    return memoryview(memory).cast("B")


def _pieces(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield flat chunks in row-major order."""
    if tensor.numel() <= _CHUNK:
        yield tensor.reshape(-1)
    elif tensor.is_contiguous():
        flat = tensor.view(-1)
        yield from (flat[start : start + _CHUNK] for start in range(0, len(flat), _CHUNK))
    else:
        rows = _CHUNK // (tensor.numel() // len(tensor))
        for start in range(0, len(tensor), max(rows, 1)):
            yield from _pieces(tensor[start : start + rows] if rows else tensor[start])


class _Scratch:
    """Reusable buffers for measuring tensors."""

    def __init__(self, with_histogram: bool) -> None:
        self._wide = torch.empty(_CHUNK, dtype=torch.float64, device="cpu")
        self._cells = torch.empty(6, dtype=torch.float64, device="cpu")
        self._low, self._high, self._nearest, *self._sums = self._cells.unbind()
        self._extremes = torch.empty(2, dtype=torch.float32, device="cpu")
        self._single_low, self._single_high = self._extremes.unbind()
        self._counts: torch.Tensor | None = None
        if with_histogram:
            self._counts = torch.zeros(_CODES, dtype=torch.int64, device="cpu")
            self._codes = torch.empty(_CHUNK, dtype=torch.int64, device="cpu")

    def row(self, tensor: torch.Tensor) -> list[float]:
        """Compute the statistics of one tensor, in column order."""
        row = [0, 0, 0, 0, math.nan, math.nan, math.nan, 0.0, 0.0, 0.0]
        if self._counts is not None:
            self._counts.zero_()
        if tensor.numel():
            for piece in _pieces(tensor):
                self._add(piece, row)
        return row

    def histogram(self) -> str:
        """Return the histogram of the last measured tensor."""
        if self._counts is None:
            return ""
        bins = torch.zeros(BINS + 1, dtype=torch.int64, device="cpu")
        return encode_histogram(bins.index_add_(0, _BIN_OF_CODE, self._counts).tolist()[:BINS])

    def _add(self, piece: torch.Tensor, row: list[float]) -> None:
        row[0] += piece.numel()
        is_double = piece.dtype is torch.float64
        low, high, nearest, *sums = self._reduced(piece)
        if not (low > -math.inf and high < math.inf):
            piece = self._finite(piece, row)
            if not piece.numel():
                return
            low, high, nearest, *sums = self._reduced(piece)
        if nearest == 0.0:
            row[3] += piece.numel() - self._not_zero(piece)
        row[4] = low if math.isnan(row[4]) else min(row[4], low)
        row[5] = high if math.isnan(row[5]) else max(row[5], high)
        row[6] = nearest if math.isnan(row[6]) else min(row[6], nearest)
        for column, value in enumerate(sums, 7):
            row[column] += value
        if self._counts is not None:
            wide = self._widened(piece)
            self._count(_without_denormals(wide) if is_double else wide, self._counts)

    def _widened(self, piece: torch.Tensor) -> torch.Tensor:
        return self._wide[: piece.numel()].copy_(piece)

    def _reduced(self, piece: torch.Tensor) -> list[float]:
        """Compute minimum, maximum, smallest magnitude, sum, sum of squares, sum of magnitudes."""
        wide = self._widened(piece)
        is_single = piece.dtype is torch.float32  # half the bytes take half the time
        if is_single:
            torch.aminmax(piece, out=(self._single_low, self._single_high))
        else:
            torch.aminmax(wide, out=(self._low, self._high))
        total, squares, absolutes = self._sums
        torch.sum(wide, 0, out=total)
        torch.abs(wide, out=wide)
        torch.sum(wide, 0, out=absolutes)
        torch.amin(wide, 0, out=self._nearest)
        torch.mul(wide, wide, out=wide)
        torch.sum(wide, 0, out=squares)
        cells: list[float] = self._cells.tolist()
        return self._extremes.tolist() + cells[2:] if is_single else cells

    def _finite(self, piece: torch.Tensor, row: list[float]) -> torch.Tensor:
        """Return the finite values and count the others."""
        wide = self._widened(piece)
        finite = wide[torch.isfinite(wide)]
        nans = int(torch.count_nonzero(torch.isnan(wide)))
        row[1] += nans
        row[2] += piece.numel() - finite.numel() - nans
        return finite

    def _not_zero(self, piece: torch.Tensor) -> int:
        wide = self._widened(piece)
        torch.ne(wide, 0.0, out=wide)  # a tenth of the time of count_nonzero, which branches
        return int(torch.sum(wide))

    def _count(self, wide: torch.Tensor, counts: torch.Tensor) -> None:
        """Add values to the counts of their codes."""
        codes = self._codes[: wide.numel()]
        torch.bitwise_right_shift(wide.view(torch.int64), _CODE_SHIFT, out=codes)
        torch.bitwise_and(codes, _CODES - 1, out=codes)
        counts += torch.bincount(codes, minlength=_CODES)


def _without_denormals(wide: torch.Tensor) -> torch.Tensor:
    """Replace denormal doubles, which would be counted as zeros, with the smallest normal one."""
    is_denormal = (wide != 0.0) & (wide.abs() < _SMALLEST_NORMAL)
    smallest = torch.full_like(wide, _SMALLEST_NORMAL).copysign_(wide)
    return torch.where(is_denormal, smallest, wide)


def _bins_of_codes() -> torch.Tensor:
    """Return the bin of each code; zero belongs to an extra bin at the end."""
    half = _CODES // 2
    levels = torch.arange(half, dtype=torch.int64, device="cpu")
    levels = (levels - 2 * (_EXPONENT_BIAS + LOWEST_EXPONENT)).clamp_(0, LEVELS - 1)
    bins = torch.cat((levels + LEVELS, LEVELS - 1 - levels))
    bins[::half] = BINS
    return bins


_BIN_OF_CODE = _bins_of_codes()
