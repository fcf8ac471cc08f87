"""Copies of small tensors, and of a few elements of large ones, without waiting for a device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sonde.hook.session import Session

ELEMENTS = 32  # of each tensor, evenly spread

_new_event: Callable[[], Any] = torch.cuda.Event


def can_sample(tensor: Tensor) -> bool:
    """Return whether a few elements can be copied cheaply."""
    is_plain = tensor.is_floating_point() and tensor.itemsize > 1 and tensor.numel() > 0
    return can_copy(tensor) and is_plain and _flat(tensor) is not None


def can_copy(tensor: Tensor) -> bool:
    """Return whether a tensor can be copied without waiting for it."""
    return tensor.layout is torch.strided and tensor.device.type in ("cpu", "cuda")


class HostCopies:
    """Copies of small tensors, possibly still on their way to the host."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._groups: list[tuple[list[int], Tensor]] = []
        self._events: list[Any] = []
        groups: dict[tuple[torch.device, torch.dtype], list[tuple[int, Tensor]]] = {}
        with torch.no_grad():
            for index, tensor in enumerate(tensors):
                flat = tensor.detach().reshape(-1)
                groups.setdefault((flat.device, flat.dtype), []).append((index, flat))
            for group in groups.values():
                joined = torch.cat([flat for _, flat in group])
                self._groups.append(([index for index, _ in group], self._fetch(joined)))
        self._lengths = [tensor.numel() for tensor in tensors]

    def is_ready(self) -> bool:
        """Return whether the devices are done."""
        return all(event.query() for event in self._events)

    @property
    def is_on_host(self) -> bool:
        """Whether no device is involved."""
        return not self._events

    @property
    def is_scalar(self) -> bool:
        """Whether there is no more than one element."""
        return sum(self._lengths) <= 1

    def tensors(self) -> list[Tensor]:
        """Return all copies, flat and in order; call once they are ready."""
        results: dict[int, Tensor] = {}
        for indices, memory in self._groups:
            start = 0
            for index in indices:
                results[index] = memory.narrow(0, start, self._lengths[index])
                start += self._lengths[index]
        return [results[index] for index in range(len(self._lengths))]

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
class _Delivery:
    """Copies that are recorded when they arrive."""

    copies: HostCopies
    record: Callable[[list[Tensor]], None]

    def is_ready(self) -> bool:
        return self.copies.is_ready()

    def take(self) -> None:
        self.record(self.copies.tensors())


def deliver(
    session: Session, task: str, copies: HostCopies, record: Callable[[list[Tensor]], None]
) -> None:
    """Record copies when they arrive; a scalar on the host is recorded immediately."""
    delivery = _Delivery(copies, record)
    if copies.is_on_host and copies.is_scalar:
        delivery.take()  # recorded with its step, even if the worker thread is late
    elif copies.is_on_host:
        session.worker_thread.submit(task, delivery.take)
    else:
        session.worker_thread.expect(task, delivery)


class ElementSamples:
    """Samples of tensor elements, possibly still on their way to the host."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._copies = HostCopies([_sample_elements(tensor.detach()) for tensor in tensors])

    def is_ready(self) -> bool:
        """Return whether the device is done."""
        return self._copies.is_ready()

    @property
    def is_on_host(self) -> bool:
        """Whether no device is involved."""
        return self._copies.is_on_host

    def values(self) -> list[list[float]]:
        """Return the elements of each tensor; call once they are ready."""
        return [elements.tolist() for elements in self._copies.tensors()]


def _sample_elements(tensor: Tensor) -> Tensor:
    """Return evenly spaced elements of a tensor."""
    flat = _flat(tensor)
    assert flat is not None
    return flat[:: max(1, len(flat) // ELEMENTS)][:ELEMENTS]


def _flat(tensor: Tensor) -> Tensor | None:
    """Return a flat view of a dense tensor, or None if its layout does not allow one."""
    if tensor.is_contiguous():
        return tensor.detach().view(-1)
    images = 4  # dimensions
    if tensor.dim() == images and tensor.is_contiguous(memory_format=torch.channels_last):
        return tensor.detach().permute(0, 2, 3, 1).view(-1)
    return None
