"""Statistics of tensors on a GPU: queued after training work, copied when ready.

Nothing here waits for the device. Dense tensors of common element types are processed in one pass
by a Triton kernel; other tensors, or all tensors if Triton is missing, by torch's operators.
"""

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import accumulate
from operator import attrgetter
from typing import Any

import torch

from sonde.hook.torch.tensors.statistics import Combined, Measured, Pending
from sonde.hook.torch.tensors.statistics_operators import ByOperators
from sonde.store.statistics import BINS, encode_histogram

_MAX_PLANS = 16
_PLAIN_TYPES = {torch.Tensor, torch.nn.Parameter}
_NO_ADDRESS = 1  # no tensor with more than one byte per element has this address
_ELEMENTS = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
_ALIGNMENT_BYTES = 16  # of the kernel's widest loads
_THREADS = 128

_dtype_of = attrgetter("dtype")
_new_event: Callable[[], Any] = torch.cuda.Event


def _kernels() -> Any:
    try:
        return import_module("sonde.hook.torch.tensors.statistics_kernels")
    except ImportError:
        return None


KERNELS = _kernels()


def launch(tensors: Mapping[str, torch.Tensor], with_histogram: bool) -> Pending:
    """Queue the statistics of tensors of one device on its current stream.

    Do not call it while that stream captures a graph.
    """
    values = list(tensors.values())
    with torch.no_grad():
        if KERNELS is None:
            return ByOperators(tensors, with_histogram)
        with torch.cuda.device(values[0].device):
            plan, addresses = _plan(list(tensors), values)
            pending: list[Pending] = [
                group.launch(addresses, with_histogram) for group in plan.groups
            ]
            if plan.unsupported:
                unsupported = {name: tensors[name] for name in plan.unsupported}
                pending.append(ByOperators(unsupported, with_histogram))
    return pending[0] if len(pending) == 1 else Combined(pending)


class _Plan:
    """Tensors that the kernel supports, grouped by element type; cached by shape."""

    def __init__(self, groups: "Sequence[_Group]", unsupported: Sequence[str]) -> None:
        self.groups = groups
        self.unsupported = unsupported


_plans: dict[Any, _Plan] = {}


def _plan(names: list[str], values: list[torch.Tensor]) -> tuple[_Plan, list[int]]:
    numels = tuple(map(torch.Tensor.numel, values))
    dtypes = tuple(map(_dtype_of, values))
    addresses = _addresses(values)
    misaligned = tuple([address % _ALIGNMENT_BYTES for address in addresses])
    key = (values[0].device, tuple(names), numels, dtypes, misaligned)
    plan = _plans.get(key)
    if plan is None:
        blocks = [
            _block(*tensor_facts) for tensor_facts in zip(addresses, dtypes, numels, strict=True)
        ]
        while len(_plans) >= _MAX_PLANS:
            del _plans[next(iter(_plans))]
        plan = _plans[key] = _new_plan(names, numels, dtypes, blocks)
    return plan, addresses


def _addresses(values: list[torch.Tensor]) -> list[int]:
    """Return the addresses of contiguous tensors; _NO_ADDRESS for others."""
    if set(map(type, values)) <= _PLAIN_TYPES:
        try:
            if all(map(torch.Tensor.is_contiguous, values)):
                return list(map(torch.Tensor.data_ptr, values))
        except RuntimeError:  # some sparse tensors raise
            pass
    return [_address(tensor) for tensor in values]


def _address(tensor: torch.Tensor) -> int:
    if type(tensor) not in _PLAIN_TYPES or tensor.layout is not torch.strided:
        return _NO_ADDRESS
    return tensor.data_ptr() if tensor.is_contiguous() else _NO_ADDRESS


def _block(address: int, dtype: torch.dtype, numel: int) -> int:
    """Return how many elements a program loads at once, or 0 if they are not supported."""
    if address == _NO_ADDRESS or not numel or dtype not in _ELEMENTS:
        return 0
    per_thread = 1 if address % _ALIGNMENT_BYTES else _ALIGNMENT_BYTES // dtype.itemsize
    return _THREADS * per_thread


def _new_plan(
    names: Sequence[str],
    numels: Sequence[int],
    dtypes: Sequence[torch.dtype],
    blocks: Sequence[int],
) -> _Plan:
    by_kind: dict[tuple[torch.dtype, int], list[int]] = {}
    for index, kind in enumerate(zip(dtypes, blocks, strict=True)):
        by_kind.setdefault(kind, []).append(index)
    groups = [
        _Group(
            members,
            [names[member] for member in members],
            [numels[member] for member in members],
            kind,
        )
        for kind, members in by_kind.items()
        if kind[1]
    ]
    return _Plan(groups, [name for name, block in zip(names, blocks, strict=True) if not block])


class _Group:
    """Tensors of one element type, with the launch data that all launches share."""

    def __init__(
        self,
        indices: list[int],
        names: list[str],
        numels: list[int],
        kind: tuple[torch.dtype, int],
    ) -> None:
        chunks = [-(-numel // KERNELS.CHUNK) for numel in numels]
        self.indices, self.names, self.numels, self.chunks = indices, names, numels, sum(chunks)
        dtype, self.block = kind
        self.element = getattr(KERNELS.tl, _ELEMENTS[dtype])
        tensor_of_chunk = [number for number, count in enumerate(chunks) for _ in range(count)]
        self.table = array("q", [0] * len(names))
        self.table.extend((*numels, *accumulate(chunks, initial=0), *tensor_of_chunk))
        self.free: list[_Buffers] = []

    def launch(self, addresses: Sequence[int], with_histogram: bool) -> Pending:
        buffers = self.free.pop() if self.free else _Buffers(self)
        buffers.write_addresses(array("q", map(addresses.__getitem__, self.indices)))
        histograms = buffers.histograms_to_fill() if with_histogram else None
        count = len(self.names)
        KERNELS.measure_chunks[(self.chunks,)](
            buffers.table,
            buffers.partials,
            histograms,
            count,
            element=self.element,
            block=self.block,
            num_warps=_THREADS // 32,
        )
        KERNELS.merge_chunks[(count,)](buffers.table, buffers.partials, buffers.results, count)
        buffers.fetch(with_histogram)
        return _ByKernel(self, buffers, with_histogram)


class _Buffers:
    """Device and host memory of one launch, reused after its results were read."""

    def __init__(self, group: _Group) -> None:
        count = len(group.names)
        self.addresses = _pinned((count,), torch.int64)
        host_table = _pinned((len(group.table),), torch.int64)
        _write(host_table, group.table)
        self.table = host_table.to("cuda", non_blocking=True)
        self.partials = torch.empty(
            (group.chunks, KERNELS.COLUMNS), dtype=torch.float64, device="cuda"
        )
        self.results = torch.empty((KERNELS.COLUMNS, count), dtype=torch.float64, device="cuda")
        self.fetched = _pinned((KERNELS.COLUMNS, count), torch.float64)
        self.histograms: torch.Tensor | None = None
        self.fetched_histograms: torch.Tensor | None = None
        self.event = _new_event()

    def write_addresses(self, addresses: "array[int]") -> None:
        """Write the addresses of the tensors."""
        _write(self.addresses, addresses)
        self.table[: len(addresses)].copy_(self.addresses, non_blocking=True)

    def histograms_to_fill(self) -> torch.Tensor:
        """Return zeroed histograms."""
        if self.histograms is None:
            shape = (self.fetched.shape[1], BINS)
            self.histograms = torch.empty(shape, dtype=torch.int32, device="cuda")
            self.fetched_histograms = _pinned(shape, torch.int32)
        return self.histograms.zero_()

    def fetch(self, with_histogram: bool) -> None:
        """Queue the copy to the host."""
        self.fetched.copy_(self.results, non_blocking=True)
        if with_histogram and self.histograms is not None and self.fetched_histograms is not None:
            self.fetched_histograms.copy_(self.histograms, non_blocking=True)
        self.event.record()


class _ByKernel:
    """Pending results of a launch."""

    def __init__(self, group: _Group, buffers: _Buffers, with_histogram: bool) -> None:
        self._group = group
        self._buffers = buffers
        self._with_histogram = with_histogram
        self._is_ready = False

    def is_ready(self) -> bool:
        """Return whether the results have arrived."""
        self._is_ready = self._is_ready or bool(self._buffers.event.query())
        return self._is_ready

    def measured(self) -> Measured:
        """Return the statistics; waits if they are not ready."""
        if not self._is_ready:
            self._buffers.event.synchronize()
        names = self._group.names
        columns = _columns(_read("d", self._buffers.fetched), len(names))
        histograms = [""] * len(names)
        if self._with_histogram and self._buffers.fetched_histograms is not None:
            counts = _read("I", self._buffers.fetched_histograms)
            histograms = [
                encode_histogram(counts[start : start + BINS])
                for start in range(0, len(counts), BINS)
            ]
        self._group.free.append(self._buffers)
        return Measured(list(names), (array("q", self._group.numels), *columns), histograms)


def _columns(numbers: "array[float]", rows: int) -> "list[array[Any]]":
    columns: list[array[Any]] = []
    for start in range(0, len(numbers), rows):
        column = numbers[start : start + rows]
        columns.append(array("q", map(int, column)) if len(columns) < 3 else column)
    return columns


def _pinned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cpu", pin_memory=True)


def _write(tensor: torch.Tensor, numbers: "array[int]") -> None:
    start, count = numbers.buffer_info()
    ctypes.memmove(tensor.data_ptr(), start, count * numbers.itemsize)


def _read(code: str, tensor: torch.Tensor) -> "array[Any]":
    numbers = array(code)
    numbers.frombytes(ctypes.string_at(tensor.data_ptr(), tensor.nbytes))
    return numbers
