"""Copies of tensors that training is about to change, to be measured or written."""

import ctypes
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import torch
from torch import Tensor, _foreach_copy_

from sonde.hook.torch.tensors.shards import local

_PIECE_BYTES = 4 * 1024 * 1024
_MAX_BUFFER_SETS = 2  # one is filled while the other is measured


def copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies outside the autograd graph."""
    with torch.no_grad():
        return {name: local(tensor).detach().clone() for name, tensor in tensors.items()}


class Copies:
    """Immutable copies, on any device."""

    def __init__(self, copied: dict[str, Tensor]) -> None:
        self._copied = copied
        # events in device queues after which the copies are complete
        self._events = {
            tensor.device: _mark(tensor.device) for tensor in copied.values() if tensor.is_cuda
        }

    @property
    def nbytes(self) -> int:
        """Size of all copies."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self._copied.values())

    def on_the_host(self) -> dict[str, Tensor]:
        """Return the copies on the host, transferred on a separate stream."""
        return {name: self._fetched(tensor) for name, tensor in self._copied.items()}

    def _fetched(self, tensor: Tensor) -> Tensor:
        if not tensor.is_cuda:
            return tensor
        with torch.no_grad(), on_own_stream(tensor.device):
            transfer = _host_transfer(tensor.device)
            transfer.stream.wait_event(self._events[tensor.device])
            return transfer.fetch(tensor)


def _mark(device: torch.device) -> Any:
    make_event: Any = torch.cuda.Event
    event = make_event()
    event.record(torch.cuda.current_stream(device))
    return event


class _HostTransfer:
    """Transfer tensors from the device in small pieces, through pinned memory.

    A large copy into pageable memory would block other users of the device.
    """

    def __init__(self, device: torch.device) -> None:
        make_stream: Any = torch.cuda.Stream
        make_event: Any = torch.cuda.Event
        self.stream = make_stream(device)
        self._arrived = make_event(blocking=True)
        self._stage = torch.empty(_PIECE_BYTES, dtype=torch.uint8, device="cpu", pin_memory=True)

    def fetch(self, tensor: Tensor) -> Tensor:
        """Return the tensor on the host; waits for it."""
        if tensor.is_complex() or tensor.layout is not torch.strided:
            return tensor.to("cpu")
        source = tensor.contiguous().view(-1).view(torch.uint8)
        target = torch.empty(source.shape, dtype=torch.uint8, device="cpu")
        for start in range(0, source.numel(), _PIECE_BYTES):
            piece = source[start : start + _PIECE_BYTES]
            self._stage[: piece.numel()].copy_(piece, non_blocking=True)
            self._arrived.record(self.stream)
            self._arrived.synchronize()
            ctypes.memmove(target.data_ptr() + start, self._stage.data_ptr(), piece.numel())
        return target.view(tensor.dtype).view(tensor.shape)


@cache
def _host_transfer(device: torch.device) -> _HostTransfer:
    return _HostTransfer(device)


class Buffers:
    """Reusable memory for copies of the same tensors, which saves allocations."""

    def __init__(self) -> None:
        self._free: deque[tuple[tuple[Any, ...], list[Tensor]]] = deque(maxlen=_MAX_BUFFER_SETS)

    def copy(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Copy into free memory of matching shapes, if there is any."""
        with torch.no_grad():
            sources = [local(tensor).detach() for tensor in tensors.values()]
            if any(source.layout is not torch.strided for source in sources):
                return copies(tensors)
            kind = tuple((source.dtype, source.shape) for source in sources)
            targets = self._take(kind)
            if targets is None:
                targets = [
                    torch.empty(source.shape, dtype=source.dtype, device="cpu")
                    for source in sources
                ]
            _foreach_copy_(targets, sources)
        return dict(zip(tensors, targets, strict=True))

    def give_back(self, copied: Mapping[str, Tensor]) -> None:
        """Return the memory of copies for reuse."""
        targets = list(copied.values())
        self._free.append((tuple((tensor.dtype, tensor.shape) for tensor in targets), targets))

    def _take(self, kind: tuple[Any, ...]) -> list[Tensor] | None:
        for _ in range(len(self._free)):
            buffer_kind, targets = self._free.popleft()
            if buffer_kind == kind:
                return targets
        return None


def on_own_stream(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context for device work of the worker thread, on a separate stream.

    It also selects the device: by default, a thread allocates memory on the first one.
    """
    torch.cuda.set_device(device)
    return torch.cuda.stream(_host_transfer(device).stream)
