"""The hook for PyTorch: captures tensors in forward and backward passes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, cast

import torch
from torch import nn

from smdebug.core import current_hook
from smdebug.core.collection import Collection as BaseCollection
from smdebug.core.collection import CollectionKeys
from smdebug.core.hook import BaseHook
from smdebug.core.warnings_once import warn_once
from smdebug.exceptions import SMDebugTypeError
from smdebug.pytorch.collection import Collection

_PATTERNS = {
    CollectionKeys.WEIGHTS: ("^(?!gradient).*weight",),
    CollectionKeys.BIASES: ("^(?!gradient).*bias",),
    CollectionKeys.GRADIENTS: ("^gradient",),
    CollectionKeys.LOSSES: ("[Ll]oss_(?!input).*output",),
    CollectionKeys.OUTPUTS: ("_output_",),
    CollectionKeys.INPUTS: ("_input_",),
}
_COMPILED = "_orig_mod."


class Hook(BaseHook):
    """Saves parameters before, and gradients and outputs during, each forward pass of a model.

    A step is a forward pass of the registered model.
    """

    collection_type: ClassVar[type[BaseCollection]] = Collection

    def __init__(self, out_dir: str, *arguments: Any, **named: Any) -> None:
        super().__init__(out_dir, *arguments, **named)
        self._model: nn.Module | None = None
        self._parameters: dict[str, torch.Tensor] = {}
        self._module_names: dict[nn.Module, str] = {}
        self._calls: Counter[str] = Counter()  # tensors of each module at the current step

    def register_module(self, module: nn.Module) -> None:
        """Capture the tensors of a model; each of its forward passes begins a step.

        Of a second model, the tensors are captured with the steps of the first one.
        """
        if not isinstance(module, nn.Module):
            raise SMDebugTypeError(f"register_module expects a module, not {module!r}")
        self.prepare()
        if self._model is None:
            self._model = module
            module.register_forward_pre_hook(self._before_forward)
        elif module is not self._model:
            warn_once("a second model was registered; the first one counts the steps")
        self._name_modules(module)
        root = self._module_names[module]
        for name, parameter in module.named_parameters():
            full_name = f"{root}_{name.replace(_COMPILED, '')}"
            if full_name not in self._parameters and parameter.requires_grad:
                register: Any = parameter.register_hook
                register(partial(self._save_gradient, full_name))
            self._parameters[full_name] = parameter

    register_hook = register_module

    def register_loss(self, loss_module: nn.Module) -> None:
        """Capture the outputs of a loss function that is a module."""
        if not isinstance(loss_module, nn.Module):
            raise SMDebugTypeError(
                f"register_loss expects a loss module, not {loss_module!r}. Use "
                "save_tensor(name, loss, collections_to_write='losses') for functions."
            )
        self.prepare()
        if loss_module not in self._module_names:
            self._module_names[loss_module] = type(loss_module).__name__
            loss_module.register_forward_hook(self._after_forward, with_kwargs=True)

    def record_tensor_value(self, tensor_name: str, tensor_value: torch.Tensor) -> None:
        """Save the value of a functional loss, as the tensor `NAME_output_0`."""
        self._save_all_of(f"{tensor_name}_output", tensor_value)

    def _built_in_patterns(self) -> dict[str, tuple[str, ...]]:
        return {**super()._built_in_patterns(), **_PATTERNS}

    def _name_modules(self, model: nn.Module) -> None:
        """Name modules by their path; hook those that are not captured yet."""
        for path, module in model.named_modules():
            if isinstance(getattr(module, "_orig_mod", None), nn.Module) and path:
                continue
            name = path.replace(_COMPILED, "") or _class_name(module)
            if module not in self._module_names:
                self._module_names[module] = name
                module.register_forward_hook(self._after_forward, with_kwargs=True)
        for collection in self.get_collections().values():
            cast("Collection", collection).resolve_modules(self._module_names)

    def _before_forward(self, _module: nn.Module, _inputs: object) -> None:
        self._calls.clear()
        for collection in self.get_collections().values():
            if isinstance(collection, Collection) and collection.selects_modules:
                collection.resolve_modules(self._module_names)
        self.begin_step()
        if self.saves_this_step:
            for name, parameter in self._parameters.items():
                self.save_if_due(name, parameter)

    def _after_forward(
        self, module: nn.Module, inputs: Any, named_inputs: Mapping[str, Any], outputs: Any
    ) -> None:
        if not self.saves_this_step:
            return
        name = self._module_names[module]
        self._save_all_of(f"{name}_input", (inputs, named_inputs))
        self._save_all_of(f"{name}_output", outputs)

    def _save_all_of(self, prefix: str, value: Any) -> None:
        for tensor in _tensors_in(value):
            number = self._calls[prefix]
            self._calls[prefix] += 1
            self.save_if_due(f"{prefix}_{number}", tensor)

    def _save_gradient(self, name: str, gradient: torch.Tensor) -> None:
        if self.saves_this_step:
            self.save_if_due(f"gradient/{name}", gradient)


def get_hook(
    json_config_path: str | None = None, create_if_not_exists: bool = False
) -> BaseHook | None:
    """The hook of this process; created from a configuration file if requested."""
    hook: BaseHook | None = current_hook.get_hook(
        Hook, json_config_path, create_if_not_exists=create_if_not_exists
    )
    return hook


def _class_name(module: nn.Module) -> str:
    original = getattr(module, "_orig_mod", module)
    return type(original).__name__


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of nested tuples, lists and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors_in(each)
