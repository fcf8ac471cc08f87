"""The global optimizer hooks, and what stands in for them while hooks rest."""

from collections.abc import Callable, Sequence
from typing import Any

from sonde.hook.torch.patching.uncompiled import leave_alone


class StepHooks:
    """Swaps the hooks before and after optimizer steps for cheaper ones.

    Values of the hook dictionaries are replaced and keys stay: another thread may be iterating.
    """

    def __init__(self, handles: Sequence[Any], count: Callable[[Any, Any, Any], None]) -> None:
        """Keep the hooks of both kinds.

        Args:
            handles: Of the hook before and of the hook after each optimizer step.
            count: Called after each optimizer step while hooks rest.
        """
        leave_alone(_nothing)
        leave_alone(count)
        self._stand_ins = list(zip(handles, (_nothing, count), strict=True))
        self._originals: list[tuple[Any, Any]] = []

    def take_out(self) -> None:
        """Install the cheaper hooks."""
        for handle, stand_in in self._stand_ins:
            hooks = handle.hooks_dict_ref()
            if hooks is not None and handle.id in hooks:
                self._originals.append((handle, hooks[handle.id]))
                hooks[handle.id] = stand_in

    def put_back(self) -> None:
        """Install the original hooks again."""
        originals, self._originals = self._originals, []
        for handle, original in originals:
            hooks = handle.hooks_dict_ref()
            if hooks is not None and handle.id in hooks:
                hooks[handle.id] = original


def _nothing(_optimizer: Any, _args: Any, _kwargs: Any) -> None:
    """Before an optimizer step nothing is needed."""
