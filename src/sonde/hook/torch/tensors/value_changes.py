"""Samples of tensor elements at two points in time, to detect changes."""

import weakref
from collections.abc import Sequence

from torch import Tensor

from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import ElementSamples

Pair = tuple[list[float], list[float]]  # the same elements, before and after


class ValueChanges:
    """Sample tensors now and again later."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = [weakref.ref(tensor) for tensor in tensors]
        self._before = ElementSamples([local(tensor) for tensor in tensors])
        self._after: ElementSamples | None = None

    def sample_again(self) -> None:
        """Take the second sample, unless a tensor was freed."""
        alive = [tensor for reference in self._tensors if (tensor := reference()) is not None]
        if len(alive) == len(self._tensors):
            self._after = ElementSamples([local(tensor) for tensor in alive])

    @property
    def is_on_host(self) -> bool:
        """Whether no device is involved."""
        return self._before.is_on_host

    def is_ready(self) -> bool:
        """Return whether the device is done."""
        return self._after is None or self._after.is_ready()

    def pairs(self) -> list[Pair] | None:
        """Return both samples of each tensor, once ready; None without a second sample."""
        if self._after is None:
            return None
        return list(zip(self._before.values(), self._after.values(), strict=True))
