"""Wrappers around functions of Keras."""

from collections.abc import Callable
from typing import Any

from sonde.hook.hidden_frames import drop_frame

Function = Callable[..., Any]


def calling_first(before: Function) -> Callable[[Function], Function]:
    """Make a wrapper that calls a hook with the same values first."""

    def make(original: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            before(*args, *kwargs.values())
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    return make


def calling_around(
    before: Function, after: Function, failed: Function
) -> Callable[[Function], Function]:
    """Make a wrapper that calls hooks before and after.

    Args:
        before: Called with the arguments, as a sequence and a mapping.
        after: Called with the owner of the function and its result.
        failed: Called if the function raises.
    """

    def make(original: Function) -> Function:
        def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
            before(owner, kwargs)
            try:
                result = original(owner, *args, **kwargs)
            except BaseException as error:
                failed()
                drop_frame(error)
                raise
            after(owner, result)
            return result

        return call

    return make
