"""Replacing functions of a framework, so that it can be undone."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.torch.patching.uncompiled import leave_alone

_MISSING = object()


class Patches:
    """What was replaced, and by what."""

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
        """Replaces a function by one made from it; one that is not there is left alone.

        Args:
            owner: Class or module of the function.
            name: Attribute of the function.
            make: Makes the replacement.
            is_removable: Whether the replacement can be taken out for a while. Not for functions
                that models keep: they are pickled by name, which must lead to the same object.
        """
        original = getattr(owner, name, None)
        if original is None:
            return
        made = hidden_from_warnings(make(original))
        leave_alone(made)
        replacement = functools.wraps(original)(made)
        # a method that a class inherits must be inherited again after undoing
        own = vars(owner).get(name, _MISSING)
        setattr(owner, name, replacement)
        self._replaced.append((owner, name, own, replacement))
        if is_removable:
            self._removable.append(self._replaced[-1])

    def replaced(self) -> Iterator[tuple[Any, Any]]:
        """The original functions, and those that stand in their places."""
        return ((vars(one[3])["__wrapped__"], one[3]) for one in self._replaced)

    def take_out(self) -> None:
        """Restore the originals of removable replacements until `put_back`."""
        for owner, name, own, replacement in self._removable:
            if vars(owner).get(name) is replacement:
                _restore(owner, name, own)

    def put_back(self) -> None:
        """Replace again what `take_out` has restored, unless someone else has replaced it since."""
        for owner, name, own, replacement in self._removable:
            if vars(owner).get(name, _MISSING) is own:
                setattr(owner, name, replacement)

    def undo(self) -> None:
        """Puts everything back that is still as we left it."""
        for owner, name, own, replacement in reversed(self._replaced):
            if vars(owner).get(name) is replacement:
                _restore(owner, name, own)
        self._replaced.clear()
        self._removable.clear()


def _restore(owner: Any, name: str, own: Any) -> None:
    if own is _MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, own)


def preceded(original: Callable[..., Any], before: Callable[[Any], None]) -> Callable[..., Any]:
    """The method, with something told of its owner before each call."""

    def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
        before(owner)
        try:
            return original(owner, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    return call
