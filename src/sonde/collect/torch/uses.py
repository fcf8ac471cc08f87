"""How layers are used whose parameters get no gradient: cut off, frozen, beside the way, or not."""

import sys
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sonde.collect.torch.hooks import Hooks
from sonde.collect.torch.modules import Modules

CUT = "cut"  # it is run before everything that gets gradients
FROZEN = "frozen"  # it is run without gradients
SIDE = "side"  # it is run after layers that get gradients: what it gives goes nowhere
UNUSED = "unused"  # it is not run


class Uses:
    """Hooks on all layers for a few passes; nothing is asked of a device."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._hooks = Hooks()
        self._layers: dict[int, list[weakref.ref[Tensor]]] = {}  # the parameters of each
        self._runs: dict[int, bool] = {}  # in order of their first runs: whether with gradients

    def watch(self) -> None:
        """Begins, unless anything is compiled: its graph would be made again because of hooks."""
        self.stop()
        if _has_compiled():
            return
        for root in self._modules.roots:
            for module in root.modules():
                parameters: list[Tensor] = list(module.parameters(recurse=False))
                own = [weakref.ref(one) for one in parameters]
                if own and _can_be_told(module):
                    self._layers[id(module)] = own
                    self._hooks.put(module, self._before(), None)

    def stop(self) -> None:
        """Takes the hooks away and forgets."""
        self._hooks.remove()
        self._layers, self._runs = {}, {}

    def of(self, parameters: Sequence[Tensor | None]) -> list[str]:
        """How the layer of each parameter is used; empty where that is not known."""
        uses: dict[int, str] = {}
        is_past = False  # a layer that gets gradients was run
        for layer, with_gradients in self._runs.items():
            own = _alive(self._layers[layer])
            if any(one.grad is not None for one in own):
                is_past = True
                continue
            use = (SIDE if is_past else CUT) if with_gradients else FROZEN
            uses |= {id(one): use for one in own}
        for references in self._layers.values():
            for one in _alive(references):
                uses.setdefault(id(one), UNUSED)
        return ["" if one is None else uses.get(id(one), "") for one in parameters]

    def _before(self) -> Any:
        is_compiling = torch.compiler.is_compiling
        layers, runs = self._layers, self._runs

        def before(module: nn.Module, _args: Any, _kwargs: Any) -> None:
            key = id(module)
            if not is_compiling() and key in layers:
                runs[key] = runs.get(key, False) or torch.is_grad_enabled()

        return before


def _can_be_told(module: nn.Module) -> bool:
    """Not of one with children: it may run without using what it has beside them."""
    has_children = any(True for _ in module.children())
    return not has_children and not isinstance(module, torch.jit.ScriptModule)


def _alive(references: Sequence[weakref.ref[Tensor]]) -> list[Tensor]:
    return [one for reference in references if (one := reference()) is not None]


def _has_compiled() -> bool:
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return bool(counters and counters["stats"]["unique_graphs"])
