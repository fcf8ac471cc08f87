"""Gradients that a script forgets to clear: still there when the next backward pass begins."""

import json
from operator import attrgetter
from typing import NamedTuple

from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.steps import At
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import ElementSamples, can_sample
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_MAX_PARAMETERS = 64  # of an optimizer, evenly spread
_version_of = attrgetter("_version")  # counts changes in place; there is no other name for it
_MAX_PASSES = 4  # backward passes between two steps of an optimizer: the first ones and the last


class _Snapshot(NamedTuple):
    """What was there when a backward pass began."""

    inspected: int
    names: list[str]  # of parameters with a gradient
    gradients: ElementSamples
    unchanged: set[int]  # places of those that the pass has added nothing to, once it is over

    @property
    def is_of_others(self) -> bool:
        """Whether there were gradients, and the pass had nothing to do with them."""
        return bool(self.names) and len(self.unchanged) == len(self.names)

    def stale(self) -> list[str]:
        """The parameters whose gradients were there, and were added to."""
        values = self.gradients.values()
        return [
            name
            for index, name in enumerate(self.names)
            if any(values[index]) and index not in self.unchanged
        ]


class _BackwardPass(NamedTuple):
    """The gradients that a backward pass has found, to be looked at again when it is over."""

    snapshot: _Snapshot
    parameters: list[Tensor]
    states: list["_State | None"]


class _State(NamedTuple):
    """Changes with every change of a gradient, wherever its memory is."""

    address: int
    version: int

    @classmethod
    def of(cls, parameter: Tensor) -> "_State | None":
        """As it is now."""
        if parameter.grad is None:
            return None
        gradient = local(parameter.grad)
        return cls(gradient.data_ptr(), _version_of(gradient))


class _Comparison(NamedTuple):
    """What was seen until an optimizer stepped, while it is on its way."""

    check: "StaleGradients"
    optimizer: int
    snapshots: list[_Snapshot]
    at: At

    def is_ready(self) -> bool:
        return all(snapshot.gradients.is_ready() for snapshot in self.snapshots)

    def take(self) -> None:
        self.check.compare(self.optimizer, self.snapshots, self.at)


class StaleGradients(StateCheck):
    """Looks at an optimizer's gradients before each backward pass; cleared once is cleared.

    Where several optimizers take turns, a backward pass of one finds the gradients of another: they
    are cleared before its own. In a loop that accumulates, they are cleared before the first one.
    So all passes since the optimizer has stepped are looked at, or none. Gradients that a pass adds
    nothing to are no matter of its: a script may hand them over afterwards, from another model.
    """

    name = "stale gradients"
    observes = (ObservationKind.KEPT_GRADIENTS,)
    order = 80
    is_inspection = True

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._inspections = context.inspections
        self._names = context.names
        self._optimizers = context.loop.optimizers
        self._snapshots: dict[int, list[_Snapshot]] = {}
        self._begun: set[int] = set()  # optimizers that a backward pass has followed since
        self._passes: list[_BackwardPass] = []

    def backward_begins(self, _roots: object) -> None:
        """Nothing of this pass was added to any gradient yet."""
        if not self._session.plan.needs(ObservationKind.KEPT_GRADIENTS):
            return
        is_due = self._inspections.is_due()
        self._passes = []  # of a pass that has raised
        for number, optimizer in self._optimizers:
            if is_due and number not in self._begun:
                self._snapshots[number] = []
            self._begun.add(number)
            snapshots = self._snapshots.get(number)
            if snapshots is not None and all(snapshot.names for snapshot in snapshots):
                snapshots[_MAX_PASSES - 1 :] = [self._snapshot(optimizer)]

    def backward_ends(self) -> None:
        """All of this pass was added."""
        passes, self._passes = self._passes, []
        for snapshot, parameters, states in passes:
            now = [_State.of(parameter) for parameter in parameters]
            snapshot.unchanged.update(
                index for index, before in enumerate(states) if now[index] == before
            )

    def before_update(self, _optimizer: Optimizer, number: int) -> None:
        """The optimizer uses what it has."""
        self._begun.discard(number)
        snapshots = self._snapshots.pop(number, None)
        if snapshots:
            at = (Mode.TRAIN.value, self._session.steps.number)
            if all(
                snapshot.gradients.is_on_host for snapshot in snapshots
            ):  # few numbers: said with the step
                self.compare(number, snapshots, at)
            else:
                self._session.worker_thread.expect(
                    self.name, _Comparison(self, number, snapshots, at)
                )

    def compare(self, optimizer: int, snapshots: list[_Snapshot], at: At) -> None:
        """What was kept at each of the passes; of devices, called in the backroom."""
        fewest = min(
            (snapshot.stale() for snapshot in snapshots if not snapshot.is_of_others),
            key=len,
            default=[],
        )
        facts = {"of": snapshots[0].inspected, "first": fewest[0] if fewest else ""}
        detail = json.dumps(facts, separators=(",", ":"))
        kind = ObservationKind.KEPT_GRADIENTS
        self._session.recorder.observe(kind, str(optimizer), float(len(fewest)), detail, at)

    def _snapshot(self, optimizer: Optimizer) -> _Snapshot:
        parameters = [
            parameter for parameter in parameters_of(optimizer) if parameter.requires_grad
        ]
        parameters = parameters[:: -(-len(parameters) // _MAX_PARAMETERS) or 1]
        sampled, gradients = [], []
        for parameter in parameters:
            gradient = None if parameter.grad is None else local(parameter.grad)
            if gradient is not None and can_sample(gradient):
                sampled.append(parameter)
                gradients.append(gradient)
        names = [self._names.name_of(parameter) or "" for parameter in sampled]
        snapshot = _Snapshot(len(parameters), names, ElementSamples(gradients), set())
        self._passes.append(
            _BackwardPass(snapshot, sampled, [_State.of(parameter) for parameter in sampled])
        )
        return snapshot
