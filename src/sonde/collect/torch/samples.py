"""A few elements of many tensors, fetched without waiting for a device."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

ELEMENTS = 32  # of each tensor, evenly spread

_new_event: Callable[[], Any] = torch.cuda.Event


def can_sample(tensor: Tensor) -> bool:
    """Whether a few of its elements are easily had."""
    is_here = tensor.layout is torch.strided and tensor.device.type in ("cpu", "cuda")
    is_plain = tensor.is_floating_point() and tensor.itemsize > 1 and tensor.numel() > 0
    return is_here and is_plain and _flat(tensor) is not None


class Fetched:
    """Elements on their way to the host; there already for tensors in its memory."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._parts: list[tuple[list[int], Tensor]] = []
        self._events: list[Any] = []
        groups: dict[tuple[torch.device, torch.dtype], list[tuple[int, Tensor]]] = {}
        with torch.no_grad():
            for place, tensor in enumerate(tensors):
                few = _few(tensor.detach())
                groups.setdefault((few.device, few.dtype), []).append((place, few))
            for group in groups.values():
                joined = torch.cat([few for _, few in group])
                self._parts.append(([place for place, _ in group], self._fetch(joined)))
        self._lengths = [min(ELEMENTS, tensor.numel()) for tensor in tensors]

    def is_ready(self) -> bool:
        """Whether the device is done."""
        return all(event.query() for event in self._events)

    def values(self) -> list[list[float]]:
        """The elements of each tensor; to be asked for once they are ready."""
        found: list[list[float]] = [[] for _ in self._lengths]
        for places, memory in self._parts:
            numbers, start = memory.tolist(), 0
            for place in places:
                found[place] = numbers[start : start + self._lengths[place]]
                start += self._lengths[place]
        return found

    def _fetch(self, joined: Tensor) -> Tensor:
        if not joined.is_cuda:
            return joined
        memory = torch.empty(joined.shape, dtype=joined.dtype, device="cpu", pin_memory=True)
        memory.copy_(joined, non_blocking=True)
        event = _new_event()
        event.record(torch.cuda.current_stream(joined.device))
        self._events.append(event)
        return memory


def _few(tensor: Tensor) -> Tensor:
    flat = _flat(tensor)
    assert flat is not None
    return flat[:: max(1, len(flat) // ELEMENTS)][:ELEMENTS]


def _flat(tensor: Tensor) -> Tensor | None:
    """All elements in a row without copying, where they lie in one."""
    if tensor.is_contiguous():
        return tensor.detach().view(-1)
    images = 4  # dimensions
    if tensor.dim() == images and tensor.is_contiguous(memory_format=torch.channels_last):
        return tensor.detach().permute(0, 2, 3, 1).view(-1)
    return None
