"""Inputs and outputs of modules, if requested."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import nn

from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.names import Names, unwrapped, walk
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.due_tensors import Kinds
from sonde.hook.torch.tensors.forward_tensors import (
    MAX_CALLS,
    ForwardTensors,
    leaves_of,
    leaves_of_call,
)
from sonde.records.notice import NoticeKind
from sonde.records.tensor import TensorKind

_INPUT = (TensorKind.INPUT,)
_OUTPUT = (TensorKind.OUTPUT,)
_LAYER_INPUT = (TensorKind.LAYER_INPUT,)
_LAYER_OUTPUT = (TensorKind.LAYER_OUTPUT,)
_ACTIVATION = (TensorKind.LAYER_OUTPUT, TensorKind.ACTIVATION)

_ACTIVATIONS_LIVE_IN = ("torch.nn.modules.activation", "transformers.activations")
_INPUTS: dict[type[nn.Module], Kinds] = {
    nn.ReLU: (TensorKind.LAYER_INPUT, TensorKind.RELU_INPUT),
    nn.ReLU6: (TensorKind.LAYER_INPUT, TensorKind.RELU_INPUT),
    nn.Tanh: (TensorKind.LAYER_INPUT, TensorKind.TANH_INPUT),
    nn.Sigmoid: (TensorKind.LAYER_INPUT, TensorKind.SIGMOID_INPUT),
}

_GRACE_STEPS = 3  # steps, or passes of a model, until modules that have not run are reported


def is_activation(module: nn.Module) -> bool:
    """Whether a module is an activation function."""
    return any(
        kind.__module__ in _ACTIVATIONS_LIVE_IN for kind in type(module).__mro__
    ) and not isinstance(module, nn.MultiheadAttention)


def kinds_of(module: nn.Module) -> tuple[Kinds, Kinds]:
    """Return the tensor kinds of a module's inputs and outputs."""
    inputs = next((_INPUTS[kind] for kind in type(module).__mro__ if kind in _INPUTS), _LAYER_INPUT)
    if TensorKind.RELU_INPUT in inputs:
        return inputs, (*_ACTIVATION, TensorKind.RELU_OUTPUT)
    return inputs, _ACTIVATION if is_activation(module) else _LAYER_OUTPUT


@dataclass(slots=True, eq=False)
class _Target:
    """A module whose tensors were requested."""

    name: str
    root: int
    inputs: Kinds | None
    outputs: Kinds | None
    has_run: bool = False  # also set if it is reported as missing
    take: Callable[..., None] | None = (
        None  # set if it may break the compiled region that contains it
    )


class Activations:
    """Put hooks on the modules whose tensors the plan may record."""

    def __init__(
        self, session: Session, modules: Modules, names: Names, forward_tensors: ForwardTensors
    ) -> None:
        self._session = session
        self._plan = session.plan
        self._modules = modules
        self._names = names
        self._forward_tensors = forward_tensors
        self._targets: IdentityMap[nn.Module, _Target] = IdentityMap()
        self._passes: dict[int, int] = {}  # by model, while something was due
        self.due: ForwardPass | None = None  # the current pass, if anything is due in it
        modules.on_found.append(session.guard.shield("activations", self._on_roots_found, None))
        modules.passes.listen("activations", self._begins, self._ends)
        session.listeners.on_step("activations", self._after_step)

    def _begins(
        self, forward: ForwardPass, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.due = forward if self._forward_tensors.is_due(forward) else None
        if self.due is not None and self._plan.may_record(TensorKind.INPUT):
            leaves = leaves_of_call(args, kwargs)
            self._forward_tensors.offer(
                forward, self._names.stem_of(module, "input"), _INPUT, leaves
            )

    def _ends(self, forward: ForwardPass, module: nn.Module, output: Any) -> None:
        if self.due is None:
            return
        self.due = None
        if self._plan.may_record(TensorKind.OUTPUT):
            leaves = leaves_of(output)
            self._forward_tensors.offer(
                forward, self._names.stem_of(module, "output"), _OUTPUT, leaves
            )
        root = id(unwrapped(module))
        self._passes[root] = self._passes.get(root, 0) + 1
        if self._passes[root] == _GRACE_STEPS:
            missing = [
                target.name
                for _, target in self._targets
                if target.root == root and not target.has_run
            ]
            self._report_missing(missing, "inside a compiled region, or not called")

    def takes(self, module: nn.Module) -> tuple[bool, bool]:
        """Return whether a module's inputs and outputs are collected by request."""
        target = self._targets.get(module)
        if target is None:
            return False, False
        return target.inputs is not None, target.outputs is not None

    def _on_roots_found(self, roots: list[nn.Module]) -> None:
        for root in roots:
            regions = compiled_regions(root)
            left_out = []
            for name, module in walk(root, self._names.prefix_of(root)):
                target = self._targets.get(module)
                if target is None and name and module is not unwrapped(root):
                    target = self._hook_if_needed(name, module, id(unwrapped(root)))
                if target is not None and not self._is_allowed(target, module, regions):
                    target.has_run = True
                    left_out.append(name)
            self._report_missing(left_out, "inside a compiled region")

    def _hook_if_needed(self, name: str, module: nn.Module, root: int) -> _Target | None:
        """Put hooks on a module, if its tensors may be requested."""
        inputs, outputs = kinds_of(module)
        target = _Target(
            name,
            root,
            inputs if self._may_be_requested(f"{name}_input", inputs) else None,
            outputs if self._may_be_requested(f"{name}_output", outputs) else None,
        )
        if target.inputs is None and target.outputs is None:
            return None
        self._targets[module] = target
        self._put_hooks(module, target)
        return target

    def _may_be_requested(self, stem: str, kinds: Kinds) -> bool:
        return any(self._plan.records_tensor(f"{stem}_{call}", kinds) for call in range(MAX_CALLS))

    def _is_allowed(self, target: _Target, module: nn.Module, regions: dict[int, bool]) -> bool:
        """Return whether tensors can be collected: in compiled regions only if named."""
        if id(module) not in regions:
            return True
        name, kinds = target.name, (*(target.inputs or ()), *(target.outputs or ()))
        is_named = any(
            self._plan.is_named(f"{name}_{what}_{call}", kinds)
            for what in ("input", "output")
            for call in range(MAX_CALLS)
        )
        if is_named and regions[id(module)]:
            target.take = _run_uncompiled(self._session.hook("activations", self._take, None))
        return target.take is not None

    def _report_missing(self, names: list[str], reason: str) -> None:
        if names:
            self._session.store.notice(
                NoticeKind.NOT_COLLECTED, f"activations of {_common_name(names)}", reason
            )

    def _put_hooks(self, module: nn.Module, target: _Target) -> None:
        is_compiling = torch.compiler.is_compiling
        take = self._session.hook("activations", self._take, None)

        def handle(what: str, value: Any) -> None:
            if is_compiling():
                if target.take is not None:
                    target.take(target, what, value)
            elif self.due is not None:
                take(target, what, value)

        def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
            handle("input", (args, kwargs))

        def after(_module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
            handle("output", output)

        skip_in_compiler(handle)
        self._modules.hooks.put(
            module,
            before if target.inputs is not None else None,
            after if target.outputs is not None else None,
        )

    def _take(self, target: _Target, what: str, value: Any) -> None:
        if self.due is None or not self._modules.passes.is_running:
            return
        target.has_run = True
        kinds = target.inputs if what == "input" else target.outputs
        leaves = leaves_of_call(*value) if what == "input" else leaves_of(value)
        self._forward_tensors.offer(self.due, f"{target.name}_{what}", kinds or (), leaves)

    def _after_step(self, step: FinishedStep) -> None:
        if step.mode == "train" and step.number == _GRACE_STEPS:
            missing = [
                target.name
                for _, target in self._targets
                if target.root not in self._passes and not target.has_run
            ]
            self._report_missing(
                missing, "no forward pass of the model ran outside compiled regions"
            )


def compiled_regions(root: nn.Module) -> dict[int, bool]:
    """Return modules inside compiled regions, and whether a graph break is allowed."""
    return dict(_compiled(root))


def _compiled(root: nn.Module) -> Iterator[tuple[int, bool]]:
    for module in root.modules():
        context = vars(module).get("dynamo_ctx")
        is_in_place = vars(module).get("_compiled_call_impl") is not None
        if context is not None or is_in_place:
            may_break = context is not None and not getattr(context, "fullgraph", True)
            for inside in module.modules():
                yield id(inside), may_break


def _common_name(names: list[str]) -> str:
    """Return one name for several modules, based on their common prefix."""
    if len(names) == 1:
        return names[0]
    levels = zip(*(name.split(".") for name in names), strict=False)
    shared = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    return ".".join([*shared, "*"])


def _run_uncompiled(function: Callable[..., None]) -> Callable[..., None]:
    """Exclude a function from compilation."""
    disable: Any = torch.compiler.disable
    outside: Callable[..., None] = disable(function)
    return outside
