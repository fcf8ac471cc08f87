"""The base class of state checks: facts about a training job that need no threshold."""

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sonde.hook.steps import StepId
from sonde.records.observation import ObservationKind, ObservationType
from sonde.records.observations import ObservationRecord

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
    """What a state check can read, including the other checks."""

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
    """Observe the state of a training process in the methods that a subclass overrides.

    A subclass in a file of `hook/torch/checks/` is active: nothing else needs to be edited. Methods
    that a subclass does not override are never called. A check that raises is disabled.
    Checks run in the training thread: they must not change tensors, draw random numbers, wait for a
    device, or start a collective.
    """

    name: ClassVar[str]  # used in notices, logs and the overhead account
    observes: ClassVar[tuple[ObservationKind | ObservationType, ...]]  # all kinds that it records
    order: ClassVar[int] = 100  # lower runs first; ties are ordered by name
    is_inspection: ClassVar[bool] = False  # its time is charged to inspections

    def __init__(self, context: CheckContext) -> None:
        self._session = context.session

    def begin(self) -> None:
        """Called when training begins, and again in a forked child."""

    def forward_begins(
        self,
        forward: "ForwardPass",
        module: "nn.Module",
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Called when an outermost forward pass begins."""

    def forward_ends(self, forward: "ForwardPass", module: "nn.Module", output: Any) -> None:
        """Called when an outermost forward pass ends."""

    def loss_called(self, name: str, forward: "ForwardPass", predictions: Any, labels: Any) -> None:
        """Called after a loss function, with its predictions and labels."""

    def deferred_loss_called(self, name: str, labels: Any) -> None:
        """Called for a loss function in a training step whose hooks are deferred."""

    def backward_begins(self, roots: Any) -> None:
        """Called when a backward pass begins, before it changes any gradient."""

    def backward_ends(self) -> None:
        """Called when a backward pass has added all its gradients."""

    def before_update(self, optimizer: "Optimizer", number: int) -> None:
        """Called when all gradients exist, right before the optimizer with this number updates."""

    def after_step(self, step: "FinishedStep") -> None:
        """Called after a step of any mode."""

    def flush(self) -> None:
        """Called before rows are written, in the hook's worker thread."""

    def end(self) -> None:
        """Called after the last step; rows are written once more after this."""

    def _observe(
        self,
        kind: str,
        subject: str,
        value: float = 0.0,
        detail: str | ObservationRecord = "",
        at: StepId | None = None,
    ) -> None:
        """Record an observation for the current step, or for the step `at`.

        Args:
            kind: One of `observes`.
            subject: What it is about.
            value: Its number.
            detail: What else the check observed.
            at: The mode and number of the step.
        """
        if isinstance(detail, ObservationRecord):
            detail = detail.encode()
        self._session.recorder.observe(kind, subject, value, detail, at)
