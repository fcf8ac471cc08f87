"""Small tensors, and a few elements of large ones, fetched without waiting for a device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sonde.hook.session import Session

ELEMENTS = 32  # of each tensor, evenly spread

_new_event: Callable[[], Any] = torch.cuda.Event


def can_sample(tensor: Tensor) -> bool:
    """Whether a few of its elements are easily had."""
    is_plain = tensor.is_floating_point() and tensor.itemsize > 1 and tensor.numel() > 0
    return can_bring(tensor) and is_plain and _flat(tensor) is not None


def can_bring(tensor: Tensor) -> bool:
    """Whether a tensor can be fetched without waiting for it."""
    return tensor.layout is torch.strided and tensor.device.type in ("cpu", "cuda")


class Brought:
    """Small tensors on their way to the host; copies of those that are in its memory already."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._parts: list[tuple[list[int], Tensor]] = []
        self._events: list[Any] = []
        groups: dict[tuple[torch.device, torch.dtype], list[tuple[int, Tensor]]] = {}
        with torch.no_grad():
            for place, tensor in enumerate(tensors):
                flat = tensor.detach().reshape(-1)
                groups.setdefault((flat.device, flat.dtype), []).append((place, flat))
            for group in groups.values():
                joined = torch.cat([flat for _, flat in group])
                self._parts.append(([place for place, _ in group], self._fetch(joined)))
        self._lengths = [tensor.numel() for tensor in tensors]

    def is_ready(self) -> bool:
        """Whether the devices are done."""
        return all(event.query() for event in self._events)

    @property
    def is_here(self) -> bool:
        """Whether no device is involved."""
        return not self._events

    @property
    def is_a_number(self) -> bool:
        """Whether there is not more in them than one number."""
        return sum(self._lengths) <= 1

    def tensors(self) -> list[Tensor]:
        """All of them, flat, in their order; to be asked for once they are ready."""
        found: dict[int, Tensor] = {}
        for places, memory in self._parts:
            start = 0
            for place in places:
                found[place] = memory.narrow(0, start, self._lengths[place])
                start += self._lengths[place]
        return [found[place] for place in range(len(self._lengths))]

    def _fetch(self, joined: Tensor) -> Tensor:
        if not joined.is_cuda:
            return joined
        memory = torch.empty(joined.shape, dtype=joined.dtype, device="cpu", pin_memory=True)
        memory.copy_(joined, non_blocking=True)
        event = _new_event()
        event.record(torch.cuda.current_stream(joined.device))
        self._events.append(event)
        return memory


@dataclass(slots=True)
class _OnTheWay:
    """Tensors that somebody waits for."""

    brought: Brought
    tell: Callable[[list[Tensor]], None]

    def is_ready(self) -> bool:
        return self.brought.is_ready()

    def take(self) -> None:
        self.tell(self.brought.tensors())


def deliver(
    session: Session, part: str, brought: Brought, tell: Callable[[list[Tensor]], None]
) -> None:
    """Tells somebody what small tensors held, as soon as they are there: a number at once."""
    way = _OnTheWay(brought, tell)
    if brought.is_here and brought.is_a_number:
        way.take()  # so it comes with its step, however late the backroom is
    elif brought.is_here:
        session.worker_thread.hand(part, way.take)
    else:
        session.worker_thread.expect(part, way)


class Fetched:
    """Elements on their way to the host; there already for tensors in its memory."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._brought = Brought([_few(tensor.detach()) for tensor in tensors])

    def is_ready(self) -> bool:
        """Whether the device is done."""
        return self._brought.is_ready()

    @property
    def is_here(self) -> bool:
        """Whether no device is involved."""
        return self._brought.is_here

    def values(self) -> list[list[float]]:
        """The elements of each tensor; to be asked for once they are ready."""
        return [few.tolist() for few in self._brought.tensors()]


def _few(tensor: Tensor) -> Tensor:
    """Of a tensor that can be sampled."""
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
