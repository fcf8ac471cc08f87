"""Copies of tensors that training is about to change, on their way to be measured or written."""

from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor

_MOST_KEPT = 2  # sets of buffers: one is filled while the other is measured


def local(tensor: Tensor) -> Tensor:
    """The part of a distributed tensor that this worker holds; any other tensor itself."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


def copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Fresh copies, outside of any graph."""
    with torch.no_grad():
        return {name: local(tensor.detach()).clone() for name, tensor in tensors.items()}


class Copies:
    """Copies that nobody changes any more, wherever they are."""

    def __init__(self, copied: dict[str, Tensor]) -> None:
        self._copied = copied
        self._made: Any = None  # a mark in the device's queue behind which they are complete
        if any(tensor.is_cuda for tensor in copied.values()):
            self._made = torch.Event("cuda")
            self._made.record()

    @property
    def nbytes(self) -> int:
        """Their size."""
        return sum(tensor.nbytes for tensor in self._copied.values())

    def on_the_host(self) -> dict[str, Tensor]:
        """Fetched on a stream of our own, so that the one that trains is not held up."""
        if self._made is None:
            return self._copied
        stream = _own_stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            stream.wait_event(self._made)
            return {name: tensor.to("cpu") for name, tensor in self._copied.items()}


@cache
def _own_stream() -> Any:
    make: Any = torch.cuda.Stream
    return make()


class Buffers:
    """Memory for copies of always the same tensors: to copy is cheap, to allocate is not."""

    def __init__(self) -> None:
        self._free: deque[tuple[tuple[Any, ...], list[Tensor]]] = deque(maxlen=_MOST_KEPT)

    def copy(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Copies into memory that was used before, where there is any that fits."""
        with torch.no_grad():
            sources = [local(tensor.detach()) for tensor in tensors.values()]
            if any(source.layout is not torch.strided for source in sources):
                return copies(tensors)
            kind = tuple((source.dtype, source.shape) for source in sources)
            targets = self._take(kind)
            if targets is None:
                targets = [
                    torch.empty(source.shape, dtype=source.dtype, device="cpu")
                    for source in sources
                ]
            torch._foreach_copy_(targets, sources)
        return dict(zip(tensors, targets, strict=True))

    def give_back(self, copied: Mapping[str, Tensor]) -> None:
        """The copies are not needed any more."""
        targets = list(copied.values())
        self._free.append((tuple((one.dtype, one.shape) for one in targets), targets))

    def _take(self, kind: tuple[Any, ...]) -> list[Tensor] | None:
        for _ in range(len(self._free)):
            known, targets = self._free.popleft()
            if known == kind:
                return targets
        return None
