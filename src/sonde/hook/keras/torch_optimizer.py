"""A Keras optimizer on PyTorch, in the form of an optimizer of `torch.optim`."""

import weakref
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from torch import Tensor

from sonde.hook.keras.variables import state_names

_version_of = attrgetter("_version")  # counts in-place changes


class KerasOptimizer:
    """Represents a Keras optimizer to the hooks on optimizers; it never updates anything."""

    def __init__(self, optimizer: Any, variables: Sequence[Any]) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._parameters = {variable.path: variable.value for variable in variables}
        self._group: dict[str, Any] = {"params": list(self._parameters.values()), "lr": 0.0}
        self._rate: tuple[object, int] = (None, 0)  # the variable's tensor, and its version

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """One group with all parameters and the current learning rate."""
        self._read_rate()
        return [self._group]

    @property
    def state(self) -> Mapping[Tensor, Mapping[str, Tensor]]:
        """The state of each parameter, such as its momentum."""
        optimizer = self._optimizer()
        states: dict[Tensor, dict[str, Tensor]] = {}
        for variable, path, name in state_names(optimizer, self._parameters):
            states.setdefault(self._parameters[path], {})[name] = variable.value
        return states

    def _read_rate(self) -> None:
        """Read the rate if it may have changed; on a device, it stays there."""
        optimizer = self._optimizer()
        if optimizer is None:
            return
        rate = optimizer.learning_rate
        tensor = getattr(rate, "value", rate)
        if not isinstance(tensor, Tensor):
            self._group["lr"] = float(tensor)
        elif not tensor.is_cpu:
            self._group["lr"] = tensor
        elif self._rate != (tensor, _version_of(tensor)):
            self._rate = (tensor, _version_of(tensor))
            self._group["lr"] = float(tensor)
