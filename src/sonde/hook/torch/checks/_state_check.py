"""The base class of state checks: facts about a training job that need no threshold."""

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sonde.hook.steps import At
from sonde.records.observation import ObservationKind, ObservationType

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn
    from torch.optim import Optimizer

    from sonde.hook.inspections import Inspections
    from sonde.hook.session import Session
    from sonde.hook.steps import FinishedStep
    from sonde.hook.torch.loop.forward_passes import ForwardPass
    from sonde.hook.torch.loop.losses import Losses
    from sonde.hook.torch.loop.modules import Modules
    from sonde.hook.torch.loop.training_loop import TrainingLoop
    from sonde.hook.torch.patching.names import Names
    from sonde.hook.torch.tensors.activations import Activations
    from sonde.hook.torch.tensors.forward_tensors import ForwardTensors

Check = TypeVar("Check", bound="StateCheck")


@dataclass(frozen=True, slots=True)
class CheckContext:
    """What a state check can read, and how it reaches a check that it builds on."""

    session: "Session"
    modules: "Modules"
    names: "Names"
    losses: "Losses"
    loop: "TrainingLoop"
    inspections: "Inspections"
    forward_tensors: "ForwardTensors"
    activations: "Activations"
    find: "Callable[[type[StateCheck]], StateCheck] | None" = None  # set once checks are built

    def check(self, kind: type[Check]) -> Check:
        """Return the instance of another state check, built first if needed."""
        instance = None if self.find is None else self.find(kind)
        assert isinstance(instance, kind)
        return instance


class StateCheck(ABC):
    """Observe the state of a training process at the moments it overrides.

    A subclass in a file of `hook/torch/checks/` is active: nothing else needs to be edited. Moments
    that a subclass does not override are never called. A check that raises is switched off alone.
    Checks run in the training thread: they must not change tensors, draw random numbers, wait for a
    device, or start a collective.
    """

    name: ClassVar[str]  # used in notices, logs and the overhead account
    observes: ClassVar[tuple[ObservationKind | ObservationType, ...]]  # all that it records
    order: ClassVar[int] = 100  # lower runs first; equal ones by name
    is_inspection: ClassVar[bool] = False  # its time is charged to inspections

    def __init__(self, context: CheckContext) -> None:
        self._session = context.session

    def begin(self) -> None:
        """Training begins; called again in a forked child."""

    def forward_begins(
        self,
        forward: "ForwardPass",
        module: "nn.Module",
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """An outermost forward pass begins."""

    def forward_ends(self, forward: "ForwardPass", module: "nn.Module", output: Any) -> None:
        """An outermost forward pass ends."""

    def loss_called(self, name: str, forward: "ForwardPass", predictions: Any, labels: Any) -> None:
        """A loss function was called with predictions and labels."""

    def deferred_loss_called(self, name: str, labels: Any) -> None:
        """A loss function was called in a training step whose hooks are deferred."""

    def backward_begins(self, roots: Any) -> None:
        """A backward pass begins; it has not changed any gradient yet."""

    def backward_ends(self) -> None:
        """A backward pass has added all its gradients."""

    def before_update(self, optimizer: "Optimizer", number: int) -> None:
        """All gradients of a step are there; the optimizer with this number updates next."""

    def after_step(self, step: "FinishedStep") -> None:
        """A step of any mode is over."""

    def flush(self) -> None:
        """Rows are about to be written; called in the hook's worker thread."""

    def end(self) -> None:
        """The last step is over; rows are written once more after this."""

    def _observe(
        self,
        kind: str,
        subject: str,
        value: float = 0.0,
        detail: str = "",
        at: At | None = None,
    ) -> None:
        """Record an observation of the step under way, or of the step `at`."""
        self._session.recorder.observe(kind, subject, value, detail, at)
