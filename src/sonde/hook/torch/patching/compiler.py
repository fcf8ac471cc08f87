"""The compiler knows many functions of PyTorch by what they are: by themselves, not by ours.

It learns them by their names when it is loaded, and then finds our functions in their places.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

import torch

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches

_RULES = "torch._dynamo.trace_rules"
_INTO_THE_GRAPH = "TorchInGraphFunctionVariable"


class Compiler:
    """Sets right what the compiler has learned, before it compiles anything."""

    def __init__(self, session: Session, on_compile: Callable[[], None]) -> None:
        self._session = session
        self._on_compile = on_compile

    def attach(self, patches: Patches) -> None:
        """Sees when something is about to be compiled."""
        patches.wrap(torch, "compile", lambda original: self._before(original, patches))

    def detach(self, patches: Patches) -> None:
        """Leaves nothing of us in what the compiler has learned."""
        if _RULES in sys.modules:
            _set_right(patches)

    def _before(self, original: Callable[..., Any], patches: Patches) -> Callable[..., Any]:
        set_right = self._session.guard.shield("compiler", _set_right, None)

        on_compile = self._session.guard.shield("compiler", self._on_compile, None)

        def compiled(*args: Any, **kwargs: Any) -> Any:
            on_compile()
            set_right(patches)
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return compiled


def _set_right(patches: Patches) -> None:
    """Functions that go into graphs as they are must be the original ones."""
    rules = importlib.import_module(_RULES).get_torch_obj_rule_map()
    for original, replacement in patches.replaced():
        if getattr(rules.get(replacement), "__name__", "") == _INTO_THE_GRAPH:
            rules.setdefault(original, rules.pop(replacement))
