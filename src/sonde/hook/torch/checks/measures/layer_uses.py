"""How layers without gradients are used: cut off, under no_grad, on a side path."""

import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sonde.hook.steps import Pass
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.hooks import Hooks
from sonde.hook.torch.patching.names import callers, is_inside
from sonde.records.observations.parameters import LayerUse, MissingGradient


@dataclass(slots=True)
class _Runs:
    """How a layer was run."""

    with_gradients: bool = False
    untracked: int = 0  # runs in training, without gradients
    line: str = ""  # the first line of the script that ran it without gradients


class LayerUses:
    """Record how layers run in a few passes, with hooks that do not access a device."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._hooks = Hooks()
        self._layers: dict[int, list[weakref.ref[Tensor]]] = {}  # parameters by layer
        self._runs: dict[int, _Runs] = {}  # in order of their first runs

    def start(self) -> None:
        """Put hooks on layers, unless anything is compiled: hooks would cause recompilation."""
        self.stop()
        if _has_compiled():
            return
        for root in self._modules.roots:
            for module in root.modules():
                parameters: list[Tensor] = list(module.parameters(recurse=False))
                references = [weakref.ref(parameter) for parameter in parameters]
                if references and _is_leaf(module):
                    self._layers[id(module)] = references
                    self._hooks.put(module, self._before(), None)

    def stop(self) -> None:
        """Remove the hooks and forget all runs."""
        self._hooks.remove()
        self._layers, self._runs = {}, {}

    def of(self, parameters: Sequence[Tensor | None], steps: int) -> list[MissingGradient]:
        """Return how the layer of each parameter was used over some steps."""
        uses: dict[int, MissingGradient] = {}
        is_past_trained = False  # whether a layer that gets gradients has run before
        for layer, runs in self._runs.items():
            layer_parameters = _alive(self._layers[layer])
            if any(parameter.grad is not None for parameter in layer_parameters):
                is_past_trained = True
                continue
            use = MissingGradient(LayerUse.SIDE if is_past_trained else LayerUse.CUT)
            if not runs.with_gradients:
                use = self._use_without_gradients(layer_parameters, runs, steps)
            uses |= {id(parameter): use for parameter in layer_parameters}
        for references in self._layers.values():
            for parameter in _alive(references):
                uses.setdefault(id(parameter), MissingGradient(LayerUse.UNUSED))
        unknown = MissingGradient()
        return [
            unknown if parameter is None else uses.get(id(parameter), unknown)
            for parameter in parameters
        ]

    def _use_without_gradients(
        self, parameters: list[Tensor], runs: _Runs, steps: int
    ) -> MissingGradient:
        if runs.untracked < steps:
            return MissingGradient(LayerUse.FROZEN)
        is_loaded = self._modules.are_loaded(parameters)
        use = LayerUse.FROZEN if is_loaded else LayerUse.UNTRACKED
        return MissingGradient(use, runs.line, at_every_step=True)

    def _before(self) -> Any:
        is_compiling = torch.compiler.is_compiling

        def before(module: nn.Module, _args: Any, _kwargs: Any) -> None:
            if not is_compiling() and id(module) in self._layers:
                self._run(module)

        return before

    def _run(self, module: nn.Module) -> None:
        runs = self._runs.setdefault(id(module), _Runs())
        if torch.is_grad_enabled():
            runs.with_gradients = True
        elif module.training or self._is_in_training():
            runs.untracked += 1
            runs.line = runs.line or _script_line()

    def _is_in_training(self) -> bool:
        """Return whether the current pass began with gradients."""
        modules = self._modules
        forward = modules.passes.latest
        return modules.passes.is_running and forward is not None and forward.kind is Pass.TRAIN


def _is_leaf(module: nn.Module) -> bool:
    """Return whether a module has no children; others may run without using their parameters."""
    has_children = any(True for _ in module.children())
    return not has_children and not isinstance(module, torch.jit.ScriptModule)


def _script_line() -> str:
    """Return the current line of the script, outside PyTorch and Sonde."""
    for frame in callers():
        if not is_inside(frame):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
    return ""


def _alive(references: Sequence[weakref.ref[Tensor]]) -> list[Tensor]:
    return [tensor for reference in references if (tensor := reference()) is not None]


def _has_compiled() -> bool:
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    return bool(counters and counters["stats"]["unique_graphs"])
