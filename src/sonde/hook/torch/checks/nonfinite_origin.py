"""Where a non-finite loss or gradient came from.

Inputs, weights, outputs and gradients are checked before the optimizer steps and spreads the value.
If a device delivers the number later, or if it arose inside the model, the next forward pass is
traced: it has hooks on all modules and waits for the device.
"""

import math
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.deferred_hooks import TensorReferences, references
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.patching.hooks import Hooks
from sonde.hook.torch.patching.names import unwrapped, walk
from sonde.hook.torch.tensors.finiteness import first_bad, tensors_in
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import FINITE, NonFiniteSource, TensorRole
from sonde.records.step import Mode

_MAX_TRACES = 8
_TRIGGERS = ("loss", "gradient_norm")

Source = tuple[str, str, TensorRole]  # subject, value (nan or inf), and where it was found


class NonFiniteOrigin(StateCheck):
    """Find where a non-finite number came from, once per episode."""

    name = "origin of non-finite values"
    observes = (ObservationKind.FIRST_NON_FINITE,)
    order = 60

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._names = context.names
        self._losses = context.losses
        self._hooks = Hooks()
        self._bad_step = -2  # the last step with a non-finite number
        self._inspected_step = -1
        self._is_due = False  # whether to trace the next pass
        self._traces = 0
        self._root: nn.Module | None = None  # the model being traced
        self._source: Source | None = None
        self._were_weights_finite = False
        self._finite_step = -1  # the last step whose traced outputs were all finite
        self._inputs: TensorReferences = []
        self._outputs: TensorReferences = []
        self._model: weakref.ref[nn.Module] | None = None
        shield = context.session.guard.shield
        context.session.listeners.on_non_finite(self._on_non_finite)
        context.losses.on_non_finite.append(shield(self.name, self._on_bad_loss, None))
        context.modules.deferred.current.listen(
            bad_loss=shield(self.name, self._on_deferred_pass, None)
        )

    def forward_begins(
        self, forward: ForwardPass, root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Remember the inputs, and put hooks on all modules if the pass is traced."""
        if not torch.is_grad_enabled():
            return
        self._stop_tracing()
        self._model = weakref.ref(root)
        self._inputs = references(enumerate(args))
        if kwargs:
            self._inputs += references(kwargs.items())
        if self._is_due:
            self._is_due = False
            self._trace(root, args, kwargs)

    def forward_ends(self, _forward: ForwardPass, root: nn.Module, output: Any) -> None:
        """Remember the outputs, and record the result of a trace."""
        if not torch.is_grad_enabled():
            return
        self._outputs = references(_items_of(output))
        if self._root is root:
            self._stop_tracing()
            bad = first_bad(tensors_in(output, self._name_of(root)))
            # in the model's own code, or in a compiled region
            if bad is not None and self._source is None:
                self._source = (self._name_of(root), bad[1], TensorRole.OUTPUT)
            self._record_trace()

    def _on_deferred_pass(self, inputs: TensorReferences) -> None:
        """Remember the inputs of a deferred pass, whose outputs are no longer available."""
        self._inputs, self._outputs = inputs, []

    def _on_bad_loss(self, loss: float) -> None:
        """Inspect the model before the backward pass, if the loss is in host memory."""
        self._on_non_finite("loss", loss, (Mode.TRAIN.value, self._session.steps.number))
        model = self._model() if self._model is not None else None
        if self._is_due and model is not None:
            self.inspect(model.parameters())

    def before_update(self, optimizer: Optimizer, _number: int) -> None:
        """Inspect the parameters, if a number of this step is not finite."""
        if self._is_due and self._bad_step == self._session.steps.number:
            parameters = list(parameters_of(optimizer))
            if not any(parameter.is_cuda for parameter in parameters):
                self.inspect(parameters)

    def inspect(self, parameters: Iterable[Tensor]) -> None:
        """Find the origin before the optimizer spreads the values; waits for the device."""
        step = self._session.steps.number
        if self._inspected_step == step:
            return
        self._inspected_step = step
        self._bad_step = max(self._bad_step, step)
        result = self._find_source(parameters)
        self._is_due = self._were_weights_finite = result is None or result[2] is TensorRole.MODEL
        if result is not None:
            self._record(*result, (Mode.TRAIN.value, step))

    def _find_source(self, parameters: Iterable[Tensor]) -> Source | None:
        weights = [(self._names.name_of(tensor) or "", tensor) for tensor in parameters]
        for role, named in (
            (TensorRole.INPUT, _alive(self._inputs)),
            (TensorRole.WEIGHT, weights),
        ):
            bad = first_bad(named)
            if bad is not None:
                return (*bad, role)
        loss = self._losses.non_finite
        if loss is None:
            gradients = [(name, tensor.grad) for name, tensor in weights if tensor.grad is not None]
            bad = first_bad(reversed(gradients))
            return None if bad is None else (*bad, TensorRole.GRADIENT)
        outputs = _alive(self._outputs)
        if outputs and first_bad(outputs) is None:
            return "loss", _name_of_value(loss), TensorRole.LOSS
        model = self._model() if self._model is not None else None
        name = "" if model is None else self._name_of(model)
        return name, _name_of_value(loss), TensorRole.MODEL

    def _on_non_finite(self, name: str, value: float, at: StepId) -> None:
        """Schedule a trace for a non-finite number; may run in the worker thread."""
        mode, step = at
        if mode != Mode.TRAIN or not name.startswith(_TRIGGERS):
            return
        is_new = step > self._bad_step + 1
        self._bad_step = max(self._bad_step, step)
        if step == self._finite_step:
            self._finite_step = -1
            role = TensorRole.LOSS if name.startswith("loss") else TensorRole.GRADIENT
            self._record(role.value, _name_of_value(value), role, at)
        elif is_new and self._traces < _MAX_TRACES:
            self._traces += 1
            self._were_weights_finite = False
            self._is_due = True

    def _trace(self, root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._root, self._source = root, None
        bad = first_bad(_call_tensors(args, kwargs))
        if bad is not None:
            self._source = (*bad, TensorRole.INPUT)
            return
        # no hook on the root, whose hooks are running when the trace removes its own
        excluded = {id(root), *_compiled_modules(root)}
        for name, module in walk(root, self._names.prefix_of(root)):
            if id(module) not in excluded and not isinstance(module, torch.jit.ScriptModule):
                self._hooks.put(module, None, self._after_hook(name or type(module).__name__))

    def _after_hook(self, name: str) -> Any:
        is_compiling = torch.compiler.is_compiling
        inspect = self._session.guard.shield(self.name, self._inspect_output, None)

        def after(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if not is_compiling() and self._source is None:
                inspect(name, module, (args, kwargs), output)

        return after

    def _inspect_output(self, name: str, module: nn.Module, inputs: Any, output: Any) -> None:
        """Find the first module with a non-finite output; inner modules come first."""
        bad = first_bad(tensors_in(output, name))
        if bad is None:
            return
        named_tensors = [
            *module.named_parameters(recurse=False),
            *module.named_buffers(recurse=False),
        ]
        weight = first_bad((f"{name}.{key}", tensor) for key, tensor in named_tensors)
        if weight is not None:
            self._source = (*weight, TensorRole.WEIGHT)
            return
        bad_input = first_bad(tensors_in(inputs, name))
        self._source = (
            (name, bad[1], TensorRole.OUTPUT)
            if bad_input is None
            else (name, bad_input[1], TensorRole.INPUT)
        )

    def _name_of(self, root: nn.Module) -> str:
        return self._names.prefix_of(root) or type(unwrapped(root)).__name__

    def _stop_tracing(self) -> None:
        self._hooks.remove()
        self._root = None

    def _record_trace(self) -> None:
        at = (Mode.TRAIN.value, self._session.steps.number)
        if self._source is None:
            self._finite_step = at[1]
            self._record("", FINITE, TensorRole.OUTPUT, at)
        elif not (self._were_weights_finite and self._source[2] is TensorRole.WEIGHT):
            self._record(*self._source, at)

    def _record(self, subject: str, content: str, role: TensorRole, at: StepId) -> None:
        source = NonFiniteSource(content, role)
        self._observe(ObservationKind.FIRST_NON_FINITE, subject, float(self._bad_step), source, at)


def _compiled_modules(root: nn.Module) -> set[int]:
    """Return modules in compiled regions, where hooks would cause recompilation."""
    return {
        id(inner) for module in root.modules() if _is_compiled(module) for inner in module.modules()
    }


def _is_compiled(module: nn.Module) -> bool:
    is_wrapper = any(kind.__name__ == "OptimizedModule" for kind in type(module).__mro__)
    return is_wrapper or vars(module).get("_compiled_call_impl") is not None


def _name_of_value(value: float) -> str:
    return "nan" if math.isnan(value) else "inf"


def _call_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    for index, value in enumerate(args):
        yield from tensors_in(value, f"input {index}")
    for name, value in kwargs.items():
        yield from tensors_in(value, f"input {name}")


def _items_of(output: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(output, dict):
        return output.items()
    return enumerate(output if isinstance(output, list | tuple) else (output,))


def _alive(references: TensorReferences) -> list[tuple[str, Tensor]]:
    return [
        (f"input {name}", tensor)
        for name, reference in references
        if (tensor := reference()) is not None
    ]
