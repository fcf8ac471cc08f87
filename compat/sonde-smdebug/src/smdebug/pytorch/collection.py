"""Collections with tensors of PyTorch modules."""

import re
from collections.abc import Mapping
from typing import Any

from torch import nn

from smdebug.core.collection import Collection as BaseCollection
from smdebug.exceptions import SMDebugValueError


class Collection(BaseCollection):
    """A collection that can select the inputs and outputs of modules."""

    def __init__(self, name: str, *arguments: Any, **named: Any) -> None:
        super().__init__(name, *arguments, **named)
        self._modules: list[tuple[nn.Module, tuple[str, ...]]] = []

    def add_module_tensors(
        self, module: nn.Module, inputs: bool = False, outputs: bool = True
    ) -> None:
        """Add the inputs or outputs of a module; its model may be registered later."""
        if not isinstance(module, nn.Module):
            raise SMDebugValueError(f"add_module_tensors expects a module, not {module!r}")
        kinds = (*(("input",) if inputs else ()), *(("output",) if outputs else ()))
        self._modules.append((module, kinds))

    def resolve_modules(self, names: Mapping[nn.Module, str]) -> None:
        """Select the tensors of added modules by the names of a registered model."""
        unresolved = []
        for module, kinds in self._modules:
            if module not in names:
                unresolved.append((module, kinds))
                continue
            for kind in kinds:
                self.include(f"^{re.escape(names[module])}_{kind}_")
        self._modules = unresolved

    @property
    def selects_modules(self) -> bool:
        """Whether modules were added whose model is not registered yet."""
        return bool(self._modules)
