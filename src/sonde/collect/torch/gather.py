"""Gathers the tensors that are due at a step: weights, gradients, optimizer state, and others."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS
from sonde.collect.budget import Measurement
from sonde.collect.session import Session
from sonde.collect.tensors.collections import Wanted
from sonde.collect.tensors.plan import Due
from sonde.collect.torch.names import Names
from sonde.collect.torch.records import Records, Taken
from sonde.collect.torch.snapshots import local
from sonde.records.notice import NoticeKind
from sonde.records.step import Mode
from sonde.records.tensor import TensorKind
from sonde.records.worker import TensorInfo

_WEIGHT = (TensorKind.WEIGHT,)
_BIAS = (TensorKind.BIAS,)
_GRADIENT = (TensorKind.GRADIENT,)
_STATE = (TensorKind.OPTIMIZER_STATE,)

Kinds = tuple[TensorKind, ...]
Found = tuple[str, Kinds, Tensor]

_STRETCHED = 2.0  # said when the interval has changed by that much


@dataclass(slots=True)
class _Decision:
    """What is recorded at the step under way, the same for all of its optimizers."""

    step: int = -1
    due: Due = ()
    is_budgeted: bool = False


class Gather:
    """Looks at what an optimizer is about to use, and takes what is due."""

    def __init__(self, session: Session, names: Names, records: Records) -> None:
        self._session = session
        self._plan = session.plan
        self._names = names
        self._records = records
        self._routine = Measurement()
        self._decision = _Decision()
        self._said_interval = 1
        self._said_of_gradients = "as the optimizer uses them"

    def gradients_were_clipped(self) -> None:
        """What is recorded of gradients from now on is what clipping has left."""
        self._said_of_gradients = "after clipping"

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients are there; nothing was updated yet."""
        due = self._due()
        if not due:
            return
        wants_state = any(TensorKind.OPTIMIZER_STATE in one.kinds for one in due)
        found = list(self._parameters(optimizer))
        if wants_state:
            found += self._states(optimizer)
        self._take(found, due, (Mode.TRAIN, self._decision.step))

    def offer(self, name: str, kinds: Kinds, tensor: Tensor, at: tuple[str, int]) -> None:
        """Takes any other tensor, if it is due: an activation, a label, what a script saves."""
        due = self._plan.due_exactly(Mode(at[0]), at[1])
        if due:
            self._take([(name, kinds, tensor)], due, at)

    def _due(self) -> Due:
        """Decides once a step; a routine measurement waits until the budget has room for it."""
        decision, session = self._decision, self._session
        step = session.steps.number
        if decision.step == step:
            return decision.due
        routine = self._routine
        is_free = session.backroom.waiting < 2
        decision.step = step
        decision.is_budgeted = is_free and session.budget.has_room_for(routine)
        if decision.is_budgeted:
            decision.due = self._plan.due(Mode.TRAIN, step, routine.last_step)
            session.budget.begin(routine, step)
            self._say_interval(routine.interval)
        else:
            decision.due = self._plan.due_exactly(Mode.TRAIN, step)
        return decision.due

    def _say_interval(self, interval: int) -> None:
        if (
            interval > _STRETCHED * self._said_interval
            or interval * _STRETCHED < self._said_interval
        ):
            self._said_interval = interval
            self._session.say(
                NoticeKind.CHANGED,
                "statistics of weights and gradients",
                f"recorded every {interval} steps, to stay within "
                f"{self._session.settings.overhead_percent:g} % of the step",
            )

    def _take(self, found: list[Found], due: Due, at: tuple[str, int]) -> None:
        began_ns = self._session.clock.now_ns()
        taken = Taken(at, began_ns)
        for name, kinds, tensor in found:
            wanted = self._plan.wanted(name, kinds, due)
            if wanted is not None:
                self._introduce(name, kinds, tensor)
                _sort(taken, name, tensor, wanted)
        if taken.is_empty:
            return
        routine = self._routine if self._decision.is_budgeted and len(found) > 1 else None
        self._records.keep(taken, routine)
        if routine is not None:
            routine.inline.learn((self._session.clock.now_ns() - began_ns) / NANOSECONDS)

    def _introduce(self, name: str, kinds: Kinds, tensor: Tensor) -> None:
        if not self._session.knows(name):
            self._session.know(
                TensorInfo(
                    name,
                    self._plan.collections_of(name, kinds),
                    str(tensor.dtype).removeprefix("torch."),
                    tuple(tensor.shape),
                    is_shard=local(tensor) is not tensor,
                    said=self._said_of_gradients if kinds == _GRADIENT else "",
                )
            )

    def _parameters(self, optimizer: Optimizer) -> Iterator[Found]:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = self._names.name_of(parameter)
                if name is None:
                    continue
                yield name, _BIAS if _is_bias(name) else _WEIGHT, parameter
                if parameter.grad is not None:
                    yield f"gradient/{name}", _GRADIENT, parameter.grad

    def _states(self, optimizer: Optimizer) -> Iterator[Found]:
        for parameter, state in optimizer.state.items():
            name = self._names.name_of(parameter)
            for key, value in state.items():
                if name is not None and isinstance(value, Tensor):
                    yield f"optimizer_state/{key}/{name}", _STATE, value


def _is_bias(name: str) -> bool:
    return name == "bias" or name.endswith((".bias", "_bias"))


def _sort(taken: Taken, name: str, tensor: Tensor, wanted: Wanted) -> None:
    (taken.with_histogram if wanted.histogram else taken.plain)[name] = tensor
    if wanted.values:
        taken.values[name] = tensor
    for reduction in wanted.reductions:
        taken.reductions.append((reduction, name))
