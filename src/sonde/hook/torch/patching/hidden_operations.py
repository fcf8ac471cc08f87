"""Hides Sonde's tensor operations from torch function and dispatch modes of the script.

Default devices, operation counters and memory trackers must not see them.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from torch._C import DisableTorchFunction, _len_torch_dispatch_stack, _len_torch_function_stack
from torch.utils._python_dispatch import (
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
)


def hidden_from_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to run with all modes disabled, and to skip fake tensors."""

    def call(*arguments: Any) -> Any:
        is_dispatched = _len_torch_dispatch_stack()
        is_overridden = _len_torch_function_stack()
        if not (is_dispatched or is_overridden):
            return function(*arguments)
        if is_dispatched and _has_fake_tensors():
            return None
        with ExitStack() as stack:
            if is_dispatched:
                stack.enter_context(_disable_current_modes())
            if is_overridden:
                stack.enter_context(DisableTorchFunction())
            return function(*arguments)

    return call


def _has_fake_tensors() -> bool:
    """Whether operations run on fake tensors, which have shapes but no data."""
    modes = _get_current_dispatch_mode_stack()
    return any(type(mode).__name__ == "FakeTensorMode" for mode in modes)
