"""Replaces the global optimizer hooks while hooks rest."""

from collections.abc import Callable, Sequence
from typing import Any

from sonde.hook.torch.patching.uncompiled import skip_in_compiler


class StepHooks:
    """Replaces the hooks around optimizer steps with cheaper ones.

    Dictionary values are replaced and keys stay, because another thread may be iterating.
    """

    def __init__(self, handles: Sequence[Any], count: Callable[[Any, Any, Any], None]) -> None:
        """Prepare the replacements.

        Args:
            handles: Handles of the hooks before and after each optimizer step.
            count: Called after each optimizer step while hooks rest.
        """
        skip_in_compiler(_do_nothing)
        skip_in_compiler(count)
        self._stand_ins = list(zip(handles, (_do_nothing, count), strict=True))
        self._originals: list[tuple[Any, Any]] = []

    def take_out(self) -> None:
        """Install the cheaper hooks."""
        for handle, stand_in in self._stand_ins:
            hooks = handle.hooks_dict_ref()
            if hooks is not None and handle.id in hooks:
                self._originals.append((handle, hooks[handle.id]))
                hooks[handle.id] = stand_in

    def put_back(self) -> None:
        """Restore the original hooks."""
        originals, self._originals = self._originals, []
        for handle, original in originals:
            hooks = handle.hooks_dict_ref()
            if hooks is not None and handle.id in hooks:
                hooks[handle.id] = original


def _do_nothing(_optimizer: Any, _args: Any, _kwargs: Any) -> None:
    """Do nothing before an optimizer step."""
