"""Gradients that a script does not clear before the next backward pass."""

from operator import attrgetter
from typing import NamedTuple

from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import ElementSamples, can_sample
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import KeptGradients
from sonde.records.step import Mode

_MAX_PARAMETERS = 64  # of an optimizer, evenly spread
_version_of = attrgetter("_version")  # counts in-place changes; there is no public name for it
_MAX_PASSES = 4  # between two steps of an optimizer: the first three and the last


class _Snapshot(NamedTuple):
    """Samples of the gradients that existed when a backward pass began."""

    inspected: int
    names: list[str]  # of parameters with a gradient
    gradients: ElementSamples
    unchanged: set[int]  # indices of gradients that the pass did not change

    @property
    def is_unrelated(self) -> bool:
        """Whether the pass changed none of the gradients."""
        return bool(self.names) and len(self.unchanged) == len(self.names)

    def stale(self) -> list[str]:
        """Return the parameters whose nonzero gradients were added to."""
        values = self.gradients.values()
        return [
            name
            for index, name in enumerate(self.names)
            if any(values[index]) and index not in self.unchanged
        ]


class _BackwardPass(NamedTuple):
    """The sampled gradients of a backward pass that is running."""

    snapshot: _Snapshot
    parameters: list[Tensor]
    states: list["_State | None"]


class _State(NamedTuple):
    """A token that changes whenever a gradient changes."""

    address: int
    version: int

    @classmethod
    def of(cls, parameter: Tensor) -> "_State | None":
        """Return the current state of a parameter's gradient."""
        if parameter.grad is None:
            return None
        gradient = local(parameter.grad)
        return cls(gradient.data_ptr(), _version_of(gradient))


class _Comparison(NamedTuple):
    """Snapshots up to an optimizer step, until their samples have arrived."""

    check: "StaleGradients"
    optimizer: int
    snapshots: list[_Snapshot]
    at: StepId

    def is_ready(self) -> bool:
        return all(snapshot.gradients.is_ready() for snapshot in self.snapshots)

    def take(self) -> None:
        self.check.compare(self.optimizer, self.snapshots, self.at)


class StaleGradients(StateCheck):
    """Sample an optimizer's gradients before each backward pass.

    If several optimizers take turns, the backward pass for one begins with gradients of another,
    which are cleared before that one's own pass. A loop that accumulates gradients clears them
    before the first pass. So either all passes since the optimizer's last step are sampled, or
    none. Gradients that a pass does not change are ignored: a script may copy them from another
    model.
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
        self._begun: set[int] = set()  # optimizers with a backward pass since their last step
        self._passes: list[_BackwardPass] = []

    def backward_begins(self, _roots: object) -> None:
        """Sample gradients before the pass adds to them."""
        if not self._session.plan.needs(ObservationKind.KEPT_GRADIENTS):
            return
        is_due = self._inspections.is_due()
        self._passes = []  # drop those of a pass that raised
        is_alone = self._session.thread.is_alone
        for number, optimizer in self._optimizers.readable(is_alone=is_alone):
            if is_due and number not in self._begun:
                self._snapshots[number] = []
            self._begun.add(number)
            snapshots = self._snapshots.get(number)
            if snapshots is not None and all(snapshot.names for snapshot in snapshots):
                snapshots[_MAX_PASSES - 1 :] = [self._snapshot(optimizer)]

    def backward_ends(self) -> None:
        """Note which gradients the pass did not change."""
        passes, self._passes = self._passes, []
        for snapshot, parameters, states in passes:
            now = [_State.of(parameter) for parameter in parameters]
            snapshot.unchanged.update(
                index for index, before in enumerate(states) if now[index] == before
            )

    def before_update(self, _optimizer: Optimizer, number: int) -> None:
        """Compare all passes since the optimizer's last step."""
        self._begun.discard(number)
        snapshots = self._snapshots.pop(number, None)
        if snapshots:
            at = (Mode.TRAIN.value, self._session.steps.number)
            # few numbers on the host are recorded with the step
            if all(snapshot.gradients.is_on_host for snapshot in snapshots):
                self.compare(number, snapshots, at)
            else:
                self._session.worker_thread.expect(
                    self.name, _Comparison(self, number, snapshots, at)
                )

    def compare(self, optimizer: int, snapshots: list[_Snapshot], at: StepId) -> None:
        """Record gradients that were stale in every pass; for devices, in the worker thread."""
        fewest_stale = min(
            (snapshot.stale() for snapshot in snapshots if not snapshot.is_unrelated),
            key=len,
            default=[],
        )
        kept = KeptGradients(snapshots[0].inspected, fewest_stale[0] if fewest_stale else "")
        kind, count = ObservationKind.KEPT_GRADIENTS, float(len(fewest_stale))
        self._observe(kind, str(optimizer), count, kept, at)

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
