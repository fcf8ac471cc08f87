"""The state of the current step that the hooks of a training loop share."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sonde.hook.session import Session
from sonde.hook.torch.loop.deferred_hooks import DeferredHooks
from sonde.hook.torch.loop.device_phases import Marks
from sonde.hook.torch.loop.losses import Losses
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.tensors.weight_changes import WeightChanges


class LoopContext(NamedTuple):
    """The objects that all hooks of a training loop share."""

    session: Session
    deferred: DeferredHooks
    modules: Modules
    names: Names
    losses: Losses
    marks: Marks


@dataclass(slots=True)
class LoopState:
    """The current step, shared by the hooks on backward passes and on optimizer steps."""

    stepping: int | None = None  # number of the optimizer that is stepping
    start_ns: int = 0  # of the latest optimizer step
    closure_calls: int = 0  # completed calls of the optimizer's closure
    has_closure: bool = False
    is_in_backward: bool = False
    is_cleared: bool = False  # gradients were cleared after the latest backward pass
    was_cleared: bool = False  # gradients were cleared right before the current step
    backward_count: int = 0  # passes since the latest optimizer step
    had_several_passes: bool = False  # in the previous step
    weights: WeightChanges = field(default_factory=WeightChanges)

    @property
    def has_loss(self) -> bool:
        """Whether the loss of the step is known; further passes run at other weights."""
        return self.weights.is_ahead or (self.closure_calls > 0 and self.stepping is not None)
