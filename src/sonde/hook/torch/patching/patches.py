"""Reversible replacement of framework functions."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.torch.patching.uncompiled import skip_in_compiler

_MISSING = object()


class Patches:
    """Replaced functions and their replacements."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._removable: list[tuple[Any, str, Any, Any]] = []

    def wrap(
        self,
        owner: Any,
        name: str,
        make: Callable[[Any], Callable[..., Any]],
        *,
        is_removable: bool = False,
    ) -> None:
        """Replace a function with a wrapper; a missing function is ignored.

        Args:
            owner: Class or module of the function.
            name: Attribute of the function.
            make: Creates the replacement from the original.
            is_removable: Whether the replacement can be removed temporarily. False for functions
                that models store: they are pickled by name, which must yield the same object.
        """
        original = getattr(owner, name, None)
        if original is None:
            return
        wrapper = hidden_from_warnings(make(original))
        skip_in_compiler(wrapper)
        replacement = functools.wraps(original)(wrapper)
        # an inherited method must be inherited again after undoing
        previous = vars(owner).get(name, _MISSING)
        setattr(owner, name, replacement)
        self._replaced.append((owner, name, previous, replacement))
        if is_removable:
            self._removable.append(self._replaced[-1])

    def replaced(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of original functions and their replacements."""
        return ((vars(patch[3])["__wrapped__"], patch[3]) for patch in self._replaced)

    def take_out(self) -> None:
        """Restore the originals of removable replacements until `put_back`."""
        for owner, name, previous, replacement in self._removable:
            if vars(owner).get(name) is replacement:
                _restore(owner, name, previous)

    def put_back(self) -> None:
        """Undo `take_out`, except for functions that someone else has replaced since."""
        for owner, name, previous, replacement in self._removable:
            if vars(owner).get(name, _MISSING) is previous:
                setattr(owner, name, replacement)

    def undo(self) -> None:
        """Restore all originals, except for functions that someone else has replaced since."""
        for owner, name, previous, replacement in reversed(self._replaced):
            if vars(owner).get(name) is replacement:
                _restore(owner, name, previous)
        self._replaced.clear()
        self._removable.clear()


def _restore(owner: Any, name: str, previous: Any) -> None:
    if previous is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, previous)


def call_before(original: Callable[..., Any], before: Callable[[Any], None]) -> Callable[..., Any]:
    """Wrap a method to call `before` with its owner first."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        before(owner)
        try:
            return original(owner, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return call
