"""Weights that a script changes between a backward pass and the clearing of gradients.

Sharpness-aware minimization (SAM) moves the weights along the gradients, clears the gradients,
computes them again and steps with the new ones. The loss of the step is that of the first pass. A
loop that skips a batch clears its gradients without using them.
"""

import weakref
from collections.abc import Callable
from operator import attrgetter

from torch import Tensor, nn
from torch.optim import Optimizer

from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.tensors.shards import is_distributed, local

_version_of = attrgetter("_version")  # counts in-place changes

_Reference = Callable[[], Tensor | None]


def _no_parameter() -> Tensor | None:
    return None


class WeightChanges:
    """Track changes of one parameter, as a sample of all parameters of an optimizer."""

    def __init__(self) -> None:
        self.is_ahead = (
            False  # weights have changed since the backward pass whose gradients were cleared
        )
        self._parameter: _Reference = _no_parameter
        self._version: int | None = None  # when a backward pass began, until gradients are cleared

    def track(self, optimizer: Optimizer) -> None:
        """Track the last parameter of a new optimizer: it is near the loss and gets a gradient."""
        for parameter in reversed(list(parameters_of(optimizer))):
            if _is_plain(parameter) and parameter.requires_grad:
                self._parameter = weakref.ref(parameter)
                return

    def backward_begins(self) -> None:
        """Note the weights at the beginning of a backward pass."""
        self._version = self._current()

    def gradients_cleared(self) -> bool:
        """Note that gradients are cleared before an optimizer step.

        Returns:
            Whether the loss of the step comes from the passes so far, not from later ones.
        """
        before, self._version = self._version, None
        if before is None:  # no backward pass since the last clearing
            return self.is_ahead
        if self.is_ahead:  # the second gradients are not used either, so this is not SAM
            self._parameter, self.is_ahead = _no_parameter, False
        else:
            self.is_ahead = self._current() not in (before, None)
        return self.is_ahead

    def optimizer_stepped(self) -> None:
        """Start over after an optimizer step."""
        self.is_ahead = False

    def _current(self) -> int | None:
        parameter = self._parameter()
        if parameter is None or parameter.is_inference():
            return None
        return int(_version_of(local(parameter)))


def _is_plain(parameter: Tensor) -> bool:
    """Return whether PyTorch counts changes of a parameter; lazy parameters, for example, raise."""
    return type(parameter) in (Tensor, nn.Parameter) or is_distributed(parameter)
