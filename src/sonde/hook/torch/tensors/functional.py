"""Activation functions that are called as functions, named after the calling module.

They are replaced only if activations are requested, and only if that is safe: a function that other
code compares with or uses as a default stays, and the function that it calls is replaced.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional
from torch import Tensor, nn
from torch.jit import _builtins, _recursive

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.names import Names, callers
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.tensors.activations import Activations, is_activation
from sonde.hook.torch.tensors.due_tensors import Kinds
from sonde.hook.torch.tensors.forward_tensors import ForwardTensors, leaves_of
from sonde.records.tensor import TensorKind

_INPUT_KINDS: dict[str, Kinds] = {
    "relu": (TensorKind.RELU_INPUT,),
    "relu6": (TensorKind.RELU_INPUT,),
    "tanh": (TensorKind.TANH_INPUT,),
    "sigmoid": (TensorKind.SIGMOID_INPUT,),
}
_ACTIVATION = (TensorKind.ACTIVATION,)
_RELU = (TensorKind.ACTIVATION, TensorKind.RELU_OUTPUT)
_KINDS = (
    TensorKind.ACTIVATION,
    TensorKind.RELU_OUTPUT,
    *(kind for (kind,) in _INPUT_KINDS.values()),
)

_GENERATED = "<eval_with_key>"  # code generated from a compiled graph
_EVERYWHERE = ("relu", "tanh", "sigmoid", "relu_", "tanh_", "sigmoid_")
_FUNCTIONAL = (
    *("celu", "elu", "gelu", "glu", "hardsigmoid", "hardswish", "leaky_relu", "logsigmoid", "mish"),
    *("prelu", "relu6", "relu_", "selu", "silu", "softplus"),
)


class FunctionalActivations:
    """Record calls of activation functions while something is due."""

    def __init__(
        self,
        session: Session,
        modules: Modules,
        names: Names,
        forward_tensors: ForwardTensors,
        activations: Activations,
    ) -> None:
        self._session = session
        self._names = names
        self._forward_tensors = forward_tensors
        self._activations = activations
        self._patches: Patches | None = None
        # built-in functions by the identity of their replacement
        self._originals: dict[int, Any] = {}
        self._depth = 0  # a function may call another one
        modules.on_found.append(
            session.guard.shield("functional activations", self._patch_if_needed, None)
        )

    def attach(self, patches: Patches) -> None:
        """Replace the functions once activations are requested."""
        self._patches = patches
        self._patch_if_needed([])

    def _patch_if_needed(self, _roots: list[nn.Module]) -> None:
        may_record = self._session.plan.may_record
        if self._patches is None or not any(may_record(kind) for kind in _KINDS):
            return
        patches, self._patches = self._patches, None
        for name in _EVERYWHERE:
            self._replace(patches, torch, name)
            patches.wrap(Tensor, name, self._wrap)
        for name in _FUNCTIONAL:
            self._replace(patches, torch.nn.functional, name)
        for reader in (_builtins, _recursive):
            patches.wrap(reader, "_find_builtin", self._wrap_find_builtin)

    def _replace(self, patches: Patches, owner: ModuleType, name: str) -> None:
        original = getattr(owner, name, None)
        patches.wrap(owner, name, self._wrap)
        replacement = getattr(owner, name, None)
        if original is None or replacement is None:
            return
        # pickled models refer to the function by its name
        replacement.__module__, replacement.__qualname__ = owner.__name__, name
        if hasattr(original, "__code__"):
            vars(replacement)["__prepare_scriptable__"] = lambda: original
        else:
            self._originals[id(replacement)] = original

    def _wrap_find_builtin(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Let TorchScript find built-in functions, which it knows by identity."""

        def find_builtin(function: Any) -> Any:
            try:
                return original(self._originals.get(id(function), function))
            except BaseException as error:
                drop_frame(error)
                raise

        return find_builtin

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, activations = torch.compiler.is_compiling, self._activations
        state = self._session.state
        name = original.__name__.rstrip("_")
        input_kinds = _INPUT_KINDS.get(name)
        output_kinds = _RELU if input_kinds == _INPUT_KINDS["relu"] else _ACTIVATION
        take = self._session.hook("functional activations", self._take, None)
        call_name_of = self._session.hook("functional activations", self._call_name, None)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                if state.is_resting or is_compiling() or activations.due is None or self._depth:
                    return original(*args, **kwargs)
                call_name = call_name_of(name)
                if call_name is None:
                    return original(*args, **kwargs)
                if input_kinds is not None:
                    take(
                        f"{call_name}_input", input_kinds, args[0] if args else kwargs.get("input")
                    )
                self._depth = 1
                try:
                    result = original(*args, **kwargs)
                finally:
                    self._depth = 0
                take(f"{call_name}_output", output_kinds, result)
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return wrapper

    def _take(self, stem: str, kinds: Kinds, value: Any) -> None:
        forward = self._activations.due
        if forward is not None:
            self._forward_tensors.offer(forward, stem, kinds, leaves_of(value))

    def _call_name(self, name: str) -> str | None:
        """Return the name for a call; None in compiled regions and in activation modules."""
        for frame in callers():
            code = frame.f_code
            owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
            if isinstance(owner, nn.Module):
                module = self._names.module_name_of(owner)
                if module is not None:
                    if is_activation(owner):
                        return None
                    return f"{module}.{name}" if module else name
                if code.co_filename.startswith(_GENERATED):
                    return None
        return name
