"""Our own operations on tensors, out of sight of the modes that a script has switched on.

A default device, a counter of operations, a tracker of memory: none of them is meant for us.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch._C import DisableTorchFunction, _len_torch_dispatch_stack, _len_torch_function_stack
from torch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
)


def unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called as if no mode were on; not at all where tensors are only imagined."""

    def call(*arguments: Any) -> Any:
        is_dispatched = _len_torch_dispatch_stack()
        is_overridden = _len_torch_function_stack()
        if not (is_dispatched or is_overridden):
            return function(*arguments)
        if is_dispatched and _is_imagined():
            return None
        with ExitStack() as stack:
            if is_dispatched:
                stack.enter_context(_disable_current_modes())
            if is_overridden:
                stack.enter_context(DisableTorchFunction())
            return function(*arguments)

    return call


def _is_imagined() -> bool:
    """Whether operations run on shapes alone, to find out what they would do."""
    modes = _get_current_dispatch_mode_stack()
    return any(type(mode).__name__ == "FakeTensorMode" for mode in modes)
