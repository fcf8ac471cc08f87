"""Samples of a tensor's rows, copied in a few microseconds and processed later."""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._C import _functorch, _len_torch_dispatch_stack

MAX_ROWS = 64
_MAX_COLUMNS = 16  # of each row, evenly spread
_MATRIX_DIMENSIONS = 2

_KINDS = {
    torch.float32: "<f4",
    torch.float64: "<f8",
    torch.float16: "<f2",
    torch.bfloat16: "<u2",  # as bits: numpy has no bfloat16
    torch.int64: "<i8",
    torch.int32: "<i4",
    torch.int16: "<i2",
    torch.int8: "|i1",
    torch.uint8: "|u1",
    torch.bool: "|u1",
}
_Memory = ctypes.c_char * (1 << 46)  # all memory; only addressed bytes are read


class RowSample(NamedTuple):
    """Elements of the first rows of a tensor."""

    data: bytes
    kind: str  # numpy dtype
    width: int  # sampled elements per row
    rows: int  # rows of the tensor

    @property
    def form(self) -> tuple[int, str, int]:
        """A key; samples with equal keys can be joined."""
        return self.rows, self.kind, self.width


def join_samples(batches: Sequence[RowSample], kind: str | None = None) -> NDArray[np.generic]:
    """Return the rows of samples of equal form as one array, or their bytes as another dtype."""
    data, first = b"".join([batch.data for batch in batches]), batches[0]
    rows = len(data) // (first.width * np.dtype(first.kind).itemsize)
    return np.frombuffer(data, kind or first.kind).reshape(rows, -1)


def sample_rows(tensor: Tensor, max_rows: int = MAX_ROWS) -> RowSample | None:
    """Sample a host tensor that does not require gradients; return None for other tensors."""
    shape, kind = tensor.shape, _KINDS.get(tensor.dtype)
    if type(tensor) is not Tensor or not shape or kind is None or not tensor.is_cpu:
        return None
    elements = tensor.numel()
    if not elements or tensor.requires_grad or _len_torch_dispatch_stack():
        return None
    if tensor.layout is not torch.strided or _functorch.is_functorch_wrapped_tensor(tensor):
        return None
    address = tensor.data_ptr()
    if not address:  # its memory was freed, or never allocated
        return None
    if tensor.is_contiguous():
        row_stride, column_stride = elements // shape[0], 1
    elif len(shape) <= _MATRIX_DIMENSIONS:
        row_stride, column_stride = tensor.stride(0), tensor.stride(-1)
    else:
        return None
    item, width = tensor.itemsize, elements // shape[0]
    step = max(1, width // _MAX_COLUMNS)
    first = step // 2
    sample = np.ndarray(
        (min(max_rows, shape[0]), min(_MAX_COLUMNS, 1 + (width - 1 - first) // step)),
        kind,
        memoryview(_Memory.from_address(address)),
        first * column_stride * item,
        (row_stride * item, step * column_stride * item),
    )
    return RowSample(sample.tobytes(), kind, sample.shape[1], shape[0])
