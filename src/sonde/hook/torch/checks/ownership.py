"""Parameters that do not learn: not in an optimizer, without gradient, or unchanged.

Compared over a few steps of each optimizer: at the beginning of training, then periodically.
"""

import weakref
from dataclasses import dataclass, field, replace

from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import thread_cpu_seconds
from sonde.hook.budget import Measurement
from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.measures.layer_uses import LayerUses
from sonde.hook.torch.checks.measures.unowned_parameters import find_unowned
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import ElementSamples, can_sample
from sonde.hook.torch.tensors.value_changes import ValueChanges
from sonde.records.observation import ObservationKind
from sonde.records.observations import ObservationRecord
from sonde.records.observations.parameters import (
    LayerUse,
    MissingGradient,
    OwnershipFault,
    UnmovedParameter,
    UnownedParameter,
)
from sonde.records.step import Mode

_FIRST_STEP = 2  # of an optimizer: its first step may have a learning rate of zero
_WINDOW_STEPS = 5
_FIRST_WINDOWS = 3
_PAUSE_STEPS = 500
_MAX_PARAMETERS = 256  # in one window; larger models are covered over several windows
_MIN_GRADIENTS = 4  # sampled elements that should have changed, to report an unmoved parameter
_CONFIRMING_WINDOWS = 2
_ENDED: dict[ObservationKind, ObservationRecord] = {
    ObservationKind.UNOWNED_PARAMETER: UnownedParameter(is_over=True),
    ObservationKind.NO_GRADIENT: MissingGradient(is_over=True),
    ObservationKind.UNMOVED_PARAMETER: UnmovedParameter(is_over=True),
}
_ROUNDING = 2.0**-23  # of a weight in single precision: smaller updates are lost


@dataclass(slots=True)
class _Parameter:
    """A parameter under comparison."""

    name: str
    tensor: weakref.ref[Tensor]
    unowned: OwnershipFault | None = None  # why it is in no optimizer
    learning_rate: float | None = None

    @property
    def may_be_pruned(self) -> bool:
        """Whether elements that stay zero may be pruned, which is possible in a matrix."""
        tensor = self.tensor()
        is_matrix = tensor is not None and tensor.dim() > 1
        return is_matrix and self.unowned is None and self.learning_rate != 0


@dataclass(slots=True)
class _Window:
    """Samples at the first of a few steps of one optimizer."""

    first_step: int
    sampled: list[_Parameter]
    weights: ValueChanges
    gradients: ElementSamples
    without: list[_Parameter]  # parameters without a gradient at every step so far
    sampled_without_gradient: list[_Parameter]  # those without a gradient at its first step
    weights_without_gradient: ValueChanges


@dataclass(slots=True)
class _OptimizerState:
    """Progress of the comparisons of one optimizer."""

    steps: int = 0
    due: int = _FIRST_STEP
    windows: int = 0
    cursor: int = 0
    window: _Window | None = None


@dataclass(slots=True)
class _Comparison:
    """A finished window, until its samples have arrived."""

    ownership: "Ownership"
    window: _Window
    uses: list[MissingGradient]  # of parameters without a gradient
    steps: int
    at: StepId

    def is_ready(self) -> bool:
        return self.window.weights.is_ready() and self.window.weights_without_gradient.is_ready()

    def take(self) -> None:
        self.ownership.compare(self)


@dataclass(slots=True)
class _History:
    """What was reported, and in how many windows a parameter did not change."""

    reported: set[tuple[str, str]] = field(default_factory=set)
    learned: set[str] = field(default_factory=set)  # parameters that had a gradient before
    # parameters reported as without a gradient
    without: dict[str, weakref.ref[Tensor]] = field(default_factory=dict)
    unmoved: dict[str, int] = field(default_factory=dict)


class Ownership(StateCheck):
    """Compare parameters of optimizers, and parameters that are in no optimizer."""

    name = "parameter ownership"
    observes = (
        ObservationKind.UNOWNED_PARAMETER,
        ObservationKind.NO_GRADIENT,
        ObservationKind.UNMOVED_PARAMETER,
    )
    order = 20

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._modules = context.modules
        self._names = context.names
        self._optimizers = context.loop.optimizers
        self._states: dict[int, _OptimizerState] = {}
        self._price = Measurement()
        self._history = _History()
        self._uses = LayerUses(context.modules)
        context.modules.deferred.policy.veto_while(self._is_comparing)

    def _is_comparing(self) -> bool:
        """Whether a window is open, so that every step is needed."""
        alive = [self._states.get(number) for number, _ in self._optimizers]
        return any(state is not None and state.window is not None for state in alive)

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """Begin, continue or finish the window of an optimizer."""
        state = self._states.get(number)
        if state is None:
            state = self._states[number] = _OptimizerState()
        state.steps += 1
        if self._history.without:
            self._check_ended()
        if state.window is not None:
            self._continue(state, state.window)
        elif state.steps >= state.due and self._may_begin(state):
            began = thread_cpu_seconds()
            state.window = self._begin(optimizer, state)
            if not self._are_reported(state.window.without):
                self._uses.start()
            self._price.inline.learn(thread_cpu_seconds() - began)

    def compare(self, done: _Comparison) -> None:
        """Compare the first and last step of a window; for devices, in the worker thread."""
        self._compare_without_gradient(done)
        window = done.window
        pairs, gradients = window.weights.pairs() or [], window.gradients.values()
        # no pairs if a tensor was freed
        for parameter, (before, after), gradient_sample in zip(
            window.sampled, pairs, gradients, strict=False
        ):
            pruned_value = 0.0 if parameter.may_be_pruned else None
            changes = [
                old != new
                for old, new, gradient in zip(before, after, gradient_sample, strict=True)
                if _would_change(gradient, old, parameter.learning_rate)
                and not old == new == pruned_value
            ]
            if any(changes):
                self._record_moved(parameter, done.at)
            elif len(changes) >= min(_MIN_GRADIENTS, len(before)):
                self._record_unmoved(parameter, done)

    def _compare_without_gradient(self, done: _Comparison) -> None:
        """Report parameters without a gradient, except those that the script updates itself."""
        window = done.window
        pairs = window.weights_without_gradient.pairs() or []
        sampled = zip(window.sampled_without_gradient, pairs, strict=False)
        moved = {parameter.name for parameter, (before, after) in sampled if before != after}
        for parameter, use in zip(window.without, done.uses, strict=True):
            if parameter.name in moved:
                continue
            has_learned = parameter.name in self._history.learned
            is_frozen = has_learned and use.use is LayerUse.UNTRACKED
            record = replace(use, use=LayerUse.FROZEN) if is_frozen else use
            self._history.without[parameter.name] = parameter.tensor
            steps = done.steps + 1
            self._report(ObservationKind.NO_GRADIENT, parameter.name, steps, done.at, record)

    def _check_ended(self) -> None:
        """Report parameters that got a gradient between two windows."""
        for name, reference in list(self._history.without.items()):
            tensor = reference()
            if tensor is None or tensor.grad is not None:
                del self._history.without[name]
                self._report_end(ObservationKind.NO_GRADIENT, name)

    def _may_begin(self, state: _OptimizerState) -> bool:
        """Return whether the budget allows a window; the first windows always run."""
        is_first = state.windows < _CONFIRMING_WINDOWS
        return is_first or self._session.overhead.budget.has_room_for(self._price)

    def _begin(self, optimizer: Optimizer, state: _OptimizerState) -> _Window:
        with_gradient, without = self._parameters_of(optimizer)
        is_idle = not with_gradient and self._optimizers.alive == 1
        if not with_gradient:
            without = []
        for parameter in with_gradient:
            self._history.learned.add(parameter.name)
            self._report_end(ObservationKind.NO_GRADIENT, parameter.name)
        roots = self._modules.roots if self._session.thread.is_alone else ()
        unowned_parameters = find_unowned(roots, self._optimizers, self._names, is_idle=is_idle)
        not_owned = [
            _Parameter(entry.name, weakref.ref(entry.tensor), entry.why)
            for entry in unowned_parameters
        ]
        sampled = self._sample([*not_owned, *with_gradient], state)
        tensors = _tensors_of(sampled)
        gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
        sampled_without_gradient = [
            parameter for parameter in without if _can_sample(parameter.tensor())
        ][:_MAX_PARAMETERS]
        return _Window(
            state.steps,
            sampled,
            ValueChanges(tensors),
            ElementSamples([local(gradient) for gradient in gradients]),
            without,
            sampled_without_gradient,
            ValueChanges(_tensors_of(sampled_without_gradient)),
        )

    def _parameters_of(self, optimizer: Optimizer) -> tuple[list[_Parameter], list[_Parameter]]:
        """Named parameters with and without a gradient."""
        with_gradient: list[_Parameter] = []
        without: list[_Parameter] = []
        alive = {id(parameter) for root in self._modules.roots for parameter in root.parameters()}
        for group in optimizer.param_groups:
            rate = group.get("lr")
            for tensor in group["params"]:
                name = self._names.name_of(tensor)
                if name is None or not tensor.requires_grad:
                    continue
                parameter = _Parameter(name, weakref.ref(tensor))
                parameter.learning_rate = rate if isinstance(rate, float) else None
                if tensor.grad is not None:
                    with_gradient.append(parameter)
                elif id(tensor) in alive:  # not of a layer that was replaced
                    without.append(parameter)
        return with_gradient, without

    def _sample(self, parameters: list[_Parameter], state: _OptimizerState) -> list[_Parameter]:
        candidates = [parameter for parameter in parameters if _is_comparable(parameter.tensor())]
        if len(candidates) <= _MAX_PARAMETERS:
            return candidates
        start = state.cursor % len(candidates)
        state.cursor = start + _MAX_PARAMETERS
        return [*candidates[start:], *candidates[:start]][:_MAX_PARAMETERS]

    def _continue(self, state: _OptimizerState, window: _Window) -> None:
        if window.without:
            window.without = [
                parameter for parameter in window.without if _has_no_gradient(parameter.tensor())
            ]
        steps = state.steps - window.first_step
        if steps < _WINDOW_STEPS:
            return
        state.window = None
        state.windows += 1
        state.due = state.steps + (1 if state.windows < _FIRST_WINDOWS else _PAUSE_STEPS)
        at = (Mode.TRAIN.value, self._session.steps.number)
        uses = self._uses.of([parameter.tensor() for parameter in window.without], steps)
        self._uses.stop()
        window.weights.sample_again()
        window.weights_without_gradient.sample_again()
        done = _Comparison(self, window, uses, steps, at)
        if window.weights.is_on_host and window.weights_without_gradient.is_on_host:
            done.take()  # few numbers on the host are recorded with the step
        else:
            self._session.worker_thread.expect(self.name, done)

    def _record_moved(self, parameter: _Parameter, at: StepId) -> None:
        self._history.unmoved.pop(parameter.name, None)
        for kind in (ObservationKind.UNMOVED_PARAMETER, ObservationKind.UNOWNED_PARAMETER):
            self._report_end(kind, parameter.name, at)

    def _record_unmoved(self, parameter: _Parameter, done: _Comparison) -> None:
        if parameter.unowned is not None:
            kind = ObservationKind.UNOWNED_PARAMETER
            self._report(kind, parameter.name, parameter.unowned, done.at, UnownedParameter())
            return
        windows = self._history.unmoved[parameter.name] = (
            self._history.unmoved.get(parameter.name, 0) + 1
        )
        if windows >= _CONFIRMING_WINDOWS or parameter.learning_rate == 0:
            record = UnmovedParameter(parameter.learning_rate)
            steps = windows * done.steps
            self._report(ObservationKind.UNMOVED_PARAMETER, parameter.name, steps, done.at, record)

    def _are_reported(self, without: list[_Parameter]) -> bool:
        kind = ObservationKind.NO_GRADIENT
        return all((kind, parameter.name) in self._history.reported for parameter in without)

    def _report(
        self,
        kind: ObservationKind,
        name: str,
        value: float,
        at: StepId,
        record: ObservationRecord,
    ) -> None:
        if (kind, name) not in self._history.reported:
            self._history.reported.add((kind, name))
            self._observe(kind, name, float(value), record, at)

    def _report_end(self, kind: ObservationKind, name: str, at: StepId | None = None) -> None:
        if (kind, name) in self._history.reported:
            self._history.reported.remove((kind, name))
            self._observe(kind, name, 0.0, _ENDED[kind], at)


def _would_change(gradient: float, weight: float, rate: float | None) -> bool:
    """Return whether a plain gradient step would change a weight despite rounding."""
    if not rate:
        return gradient != 0.0
    return gradient != 0.0 and abs(gradient) * rate > abs(weight) * _ROUNDING


def _is_comparable(tensor: Tensor | None) -> bool:
    """Return whether a parameter and its gradient can be compared by element."""
    if tensor is None or tensor.grad is None:
        return False
    weight, gradient = local(tensor).detach(), local(tensor.grad)
    if not (can_sample(weight) and can_sample(gradient)):
        return False
    return weight.shape == gradient.shape and weight.stride() == gradient.stride()


def _tensors_of(parameters: list[_Parameter]) -> list[Tensor]:
    return [tensor for parameter in parameters if (tensor := parameter.tensor()) is not None]


def _can_sample(tensor: Tensor | None) -> bool:
    return tensor is not None and can_sample(local(tensor).detach())


def _has_no_gradient(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.requires_grad and tensor.grad is None
