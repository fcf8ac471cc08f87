"""Collect the tensors that are due at a step: weights, gradients, optimizer state and others."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS, thread_cpu_seconds
from sonde.formats import format_percent
from sonde.hook.budget import Measurement
from sonde.hook.inspections import Inspections
from sonde.hook.session import Session
from sonde.hook.tensors.collections import TensorRequest
from sonde.hook.tensors.plan import Due
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.tensors.device_timing import Kernels
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_records import Listener, StepTensors, TensorRecords
from sonde.records.notice import NoticeKind
from sonde.records.step import Mode
from sonde.records.tensor import TensorKind
from sonde.records.worker import TensorInfo

_WEIGHT = (TensorKind.WEIGHT,)
_BIAS = (TensorKind.BIAS,)
_GRADIENT = (TensorKind.GRADIENT,)
_STATE = (TensorKind.OPTIMIZER_STATE,)

Kinds = tuple[TensorKind, ...]
NamedTensor = tuple[str, Kinds, Tensor]

_MAX_VALUES = 2**16  # of a tensor that only rules need
_MAX_PENDING = 16  # measurements queued in the worker thread
_REPORTED_GROWTH = 4  # a notice is recorded when the interval has grown by this factor


@dataclass(slots=True)
class _Decision:
    """What is recorded at the current step, for all of its optimizers."""

    step: int = -1
    due: Due = ()
    is_budgeted: bool = False


@dataclass(slots=True)
class _Recipe:
    """The tensors to collect from one optimizer, computed once for each set of due collections."""

    shape: tuple[int, ...]  # identities of the parameters, to detect changes
    weights: StepTensors
    gradients: list[tuple[str, Tensor, TensorRequest]]  # name, parameter, request


class DueTensors:
    """Collect the due tensors before an optimizer uses them."""

    def __init__(
        self, session: Session, names: Names, records: TensorRecords, inspections: Inspections
    ) -> None:
        self._session = session
        self._inspections = inspections
        self._plan = session.plan
        self._names = names
        self._records = records
        self._kernels = Kernels(session)
        self._routine = Measurement()
        self._decision = _Decision()
        self._recipes: IdentityMap[Optimizer, dict[Due, _Recipe]] = IdentityMap()
        # given an optimizer's number, returns the listener for its statistics
        self.listen: Callable[[int], Listener | None] | None = None
        self._reported_interval = 1
        self._gradient_note = "as the optimizer uses them"

    def steps_until_due(self, step_seconds: float) -> int:
        """Return how many steps until the budget allows the next measurement."""
        return self._session.overhead.budget.steps_until_room(self._routine, step_seconds)

    def includes_gradients(self) -> bool:
        """Return whether the statistics of this step include all gradients, and thus their norm."""
        decision = self._decision
        return any(
            TensorKind.GRADIENT in collection.kinds and not collection.include
            for collection in decision.due
        )

    def note_clipping(self) -> None:
        """Describe gradients as clipped from now on."""
        self._gradient_note = "after clipping"

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """Collect the due tensors of an optimizer."""
        due = self._due(optimizer)
        if not due:
            return
        began = thread_cpu_seconds()
        at = (Mode.TRAIN.value, self._decision.step)
        tensors = self._collect(self._recipe(optimizer, due), at, self._session.clock.now_ns())
        if any(TensorKind.OPTIMIZER_STATE in collection.kinds for collection in due):
            self._add(tensors, self._states(optimizer), due)
        if tensors.is_empty:
            return
        if self.listen is not None and self.includes_gradients():
            tensors.on_measured = self.listen(number)
        routine = self._routine if self._decision.is_budgeted else None
        is_over = self._records.keep(tensors, routine)
        if routine is not None and is_over:
            seconds = thread_cpu_seconds() - began
            if routine.inline.seconds is None:  # allocates memory and prepares kernels
                self._session.overhead.charge_once(int(seconds * NANOSECONDS))
            routine.inline.learn(seconds)

    def offer(
        self, name: str, kinds: Kinds, tensor: Tensor, at: tuple[str, int], is_inspection: bool
    ) -> None:
        """Collect another tensor, if it is due: an activation, a label, a saved tensor."""
        due = exact = self._plan.due_exactly(Mode(at[0]), at[1])
        if is_inspection:
            due += self._plan.sparse
        if not due or self._plan.request_for(name, kinds, due) is None:
            return
        if not self._session.store.has_tensor(name):
            self._register(name, kinds, tensor)
        if self._plan.request_for(name, kinds, exact) is None:
            tensor = first_samples(tensor)
            if tensor.is_quantized or not self._kernels.are_ready_for(tensor):
                return
        tensors = StepTensors(at, self._session.clock.now_ns())
        self._add(tensors, [(name, kinds, tensor)], due)
        self._records.keep(tensors, None)

    def _due(self, optimizer: Optimizer) -> Due:
        """Decide once per step; routine measurements wait until the budget allows them."""
        decision, session = self._decision, self._session
        step = session.steps.number
        if decision.step == step:
            return decision.due
        routine = self._routine
        decision.step = step
        decision.is_budgeted = (
            self._plan.has_routine
            and self._is_ready_for(optimizer)
            and not session.windows.is_open  # a profile must show only the training itself
            and (self._is_early() or self._has_room())
        )
        if decision.is_budgeted:
            decision.due = self._plan.due(Mode.TRAIN, step, routine.last_step)
            session.overhead.budget.begin(routine, step)
            self._report_interval(routine.interval)
        else:
            decision.due = self._plan.due_exactly(Mode.TRAIN, step)
        return decision.due

    def _is_early(self) -> bool:
        """Return whether this is a scheduled inspection."""
        is_inspection = self._inspections.is_due() and self._inspections.is_early
        return is_inspection and self._session.worker_thread.waiting < _MAX_PENDING

    def _has_room(self) -> bool:
        session = self._session
        return session.worker_thread.waiting < 2 and session.overhead.budget.has_room_for(
            self._routine
        )

    def _is_ready_for(self, optimizer: Optimizer) -> bool:
        first = next(parameters_of(optimizer), None)
        return first is None or self._kernels.are_ready_for(local(first))

    def _report_interval(self, interval: int) -> None:
        if interval > _REPORTED_GROWTH * self._reported_interval:
            self._reported_interval = interval
            limit = format_percent(self._session.settings.overhead_percent)
            self._session.store.notice(
                NoticeKind.CHANGED,
                "statistics of weights and gradients",
                f"recorded every {interval} steps to keep overhead below {limit} of step time",
            )

    def _recipe(self, optimizer: Optimizer, due: Due) -> _Recipe:
        shape = tuple([id(parameter) for parameter in parameters_of(optimizer)])
        recipes = self._recipes.get(optimizer)
        if recipes is None or any(recipe.shape != shape for recipe in recipes.values()):
            recipes = self._recipes[optimizer] = {}
        recipe = recipes.get(due)
        if recipe is None:
            recipe = recipes[due] = self._build_recipe(optimizer, due, shape)
        return recipe

    def _build_recipe(self, optimizer: Optimizer, due: Due, shape: tuple[int, ...]) -> _Recipe:
        weights = StepTensors(("", 0), 0)
        gradients = []
        for parameter in parameters_of(optimizer):
            name = self._names.name_of(parameter)
            if name is None:
                continue
            self._add(weights, [(name, _BIAS if _is_bias(name) else _WEIGHT, parameter)], due)
            request = self._plan.request_for(f"gradient/{name}", _GRADIENT, due)
            if request is not None:
                gradients.append((f"gradient/{name}", parameter, request))
        return _Recipe(shape, weights, gradients)

    def _collect(self, recipe: _Recipe, at: tuple[str, int], time_ns: int) -> StepTensors:
        weights = recipe.weights
        tensors = StepTensors(
            at,
            time_ns,
            weights.plain.copy(),
            weights.with_histogram.copy(),
            weights.values.copy(),
            weights.reductions.copy(),
        )
        has_tensor = self._session.store.has_tensor
        for name, parameter, request in recipe.gradients:
            gradient = parameter.grad
            if gradient is not None:
                if not has_tensor(name):
                    self._register(name, _GRADIENT, gradient)
                file_tensor(tensors, name, gradient, request)
        return tensors

    def _add(self, tensors: StepTensors, candidates: Iterable[NamedTensor], due: Due) -> None:
        for name, kinds, tensor in candidates:
            request = self._plan.request_for(name, kinds, due)
            if request is not None:
                if not self._session.store.has_tensor(name):
                    self._register(name, kinds, tensor)
                file_tensor(tensors, name, tensor, request)

    def _register(self, name: str, kinds: Kinds, tensor: Tensor) -> None:
        self._session.store.register_tensor(
            TensorInfo(
                name,
                self._plan.collections_of(name, kinds),
                str(tensor.dtype).removeprefix("torch."),
                tuple(tensor.shape),
                is_shard=local(tensor) is not tensor,
                note=self._gradient_note if kinds == _GRADIENT else "",
            )
        )

    def _states(self, optimizer: Optimizer) -> Iterator[NamedTensor]:
        for parameter, state in optimizer.state.items():
            name = self._names.name_of(parameter)
            for key, value in state.items():
                if name is not None and isinstance(value, Tensor):
                    yield f"optimizer_state/{key}/{name}", _STATE, value


def first_samples(tensor: Tensor) -> Tensor:
    """Return the first samples of a large tensor."""
    tensor = local(tensor).detach()
    if tensor.numel() <= _MAX_VALUES or not tensor.dim() or tensor.layout is not torch.strided:
        return tensor
    return tensor[: max(1, _MAX_VALUES // (tensor.numel() // len(tensor)))]


def _is_bias(name: str) -> bool:
    return name == "bias" or name.endswith((".bias", "/bias", "_bias"))


def file_tensor(tensors: StepTensors, name: str, tensor: Tensor, request: TensorRequest) -> None:
    """Sort a tensor by what is requested of it."""
    (tensors.with_histogram if request.histogram else tensors.plain)[name] = tensor
    if request.values:
        tensors.values[name] = tensor
    for reduction in request.reductions:
        tensors.reductions.append((reduction, name))
