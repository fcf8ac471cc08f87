"""Models inside models: wrappers, task modules and agents with several models."""

import sys
from collections.abc import Iterator

from torch import nn

from sonde.hook.torch.patching.names import wrapped_by

_MAX_DEPTH = 4
_MAIN_SHARE = 0.5  # of parameter tensors


def with_inner_models(root: nn.Module) -> Iterator[nn.Module]:
    """A model and the inner models that scripts may call instead."""
    module: nn.Module | None = root
    for _ in range(_MAX_DEPTH):
        if module is None:
            return
        yield module
        module = wrapped_by(module) or _main_child(module)


def has_gradients(module: nn.Module) -> bool:
    """Whether any of its parameters has a gradient."""
    return any(parameter.grad is not None for parameter in module.parameters())


def is_compiled() -> bool:
    """Whether torch.compile has traced anything; calls inside compiled code are invisible."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(vars(dynamo)["counters"].get("frames"))


def _main_child(module: nn.Module) -> nn.Module | None:
    """The child that holds most parameters, if it has children itself."""
    total = sum(1 for _ in module.parameters())
    for child in module.children():
        count = sum(1 for _ in child.parameters())
        if count > _MAIN_SHARE * total and any(True for _ in child.children()):
            return child
    return None
