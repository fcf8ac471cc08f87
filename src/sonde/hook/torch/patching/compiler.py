"""Keeps torch.compile's tracing rules pointed at the original PyTorch functions.

When it is loaded, the compiler looks up functions by name and would find the wrappers instead.
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
_IN_GRAPH_RULE = "TorchInGraphFunctionVariable"


class Compiler:
    """Corrects the tracing rules before anything is compiled."""

    def __init__(self, session: Session, on_compile: Callable[[], None]) -> None:
        self._session = session
        self._on_compile = on_compile

    def attach(self, patches: Patches) -> None:
        """Wrap `torch.compile`."""
        patches.wrap(torch, "compile", lambda original: self._wrap_compile(original, patches))

    def detach(self, patches: Patches) -> None:
        """Remove the wrappers from the tracing rules."""
        if _RULES in sys.modules:
            _restore_rules(patches)

    def _wrap_compile(self, original: Callable[..., Any], patches: Patches) -> Callable[..., Any]:
        restore_rules = self._session.guard.shield("compiler", _restore_rules, None)

        on_compile = self._session.guard.shield("compiler", self._on_compile, None)

        def compiled(*args: Any, **kwargs: Any) -> Any:
            on_compile()
            restore_rules(patches)
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return compiled


def _restore_rules(patches: Patches) -> None:
    """Map in-graph rules to the original functions instead of the wrappers."""
    rules = importlib.import_module(_RULES).get_torch_obj_rule_map()
    for original, replacement in patches.replaced():
        if getattr(rules.get(replacement), "__name__", "") == _IN_GRAPH_RULE:
            rules.setdefault(original, rules.pop(replacement))
