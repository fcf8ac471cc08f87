"""Gradients that are cleared between the backward pass and the optimizer step."""

from itertools import islice

from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.tensors.shards import local
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import LayerUse, MissingGradient

_CONSECUTIVE_STEPS = 3  # a script may discard the gradients of one bad batch and still step
_MAX_PARAMETERS = 8


class ZeroedGradients(StateCheck):
    """Count consecutive optimizer steps with cleared gradients."""

    name = "zeroed gradients"
    observes = (ObservationKind.NO_GRADIENT,)
    order = 30

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._names = context.names
        self._state = context.loop.state
        self._steps = 0  # consecutive
        self._reported = ""

    def before_update(self, optimizer: Optimizer, _number: int) -> None:
        """Check whether the optimizer has any nonzero gradient."""
        if not self._state.was_cleared or any(map(_has_gradient, _first_parameters(optimizer))):
            self._steps = 0
            if self._reported:
                over = MissingGradient(is_over=True)
                self._observe(ObservationKind.NO_GRADIENT, self._reported, 0.0, over)
                self._reported = ""
            return
        self._steps += 1
        if self._steps == _CONSECUTIVE_STEPS:
            first = next(iter(_first_parameters(optimizer)), None)
            self._reported = (first is not None and self._names.name_of(first)) or ""
            cleared, steps = MissingGradient(LayerUse.CLEARED), float(self._steps)
            self._observe(ObservationKind.NO_GRADIENT, self._reported, steps, cleared)


def _first_parameters(optimizer: Optimizer) -> list[Tensor]:
    return list(islice(parameters_of(optimizer), _MAX_PARAMETERS))


def _has_gradient(parameter: Tensor) -> bool:
    if parameter.grad is None:
        return False
    gradient = local(parameter.grad).detach()
    # an empty local shard does not show what other workers have
    return not gradient.is_cpu or not gradient.numel() or bool(gradient.any())
