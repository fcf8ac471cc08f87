"""Units of a layer that are identical, so that they learn the same."""

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import HostCopies, can_copy, deliver
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import DistinctUnits
from sonde.records.step import Mode

_MATRIX_DIMENSIONS = 2
_MIN_UNITS = 4
_MAX_UNITS = 128  # of a weight, evenly spread
_MAX_COLUMNS = 32
_MAX_WEIGHTS = 64  # per inspection; larger models are covered over several inspections


class UnitCopies(StateCheck):
    """Count distinct rows of weights, at scheduled inspections."""

    name = "identical units"
    observes = (ObservationKind.UNIT_COPIES,)
    order = 90
    is_inspection = True

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._inspections = context.inspections
        self._names = context.names
        self._cursor = 0

    def before_update(self, optimizer: Optimizer, _number: int) -> None:
        """Copy rows of the weights that the step was computed with."""
        is_needed = self._session.plan.needs(ObservationKind.UNIT_COPIES)
        if not (is_needed and self._inspections.is_due() and self._inspections.is_early):
            return
        weights = [
            (name, local(parameter).detach())
            for parameter in parameters_of(optimizer)
            if (name := self._names.name_of(parameter)) is not None and parameter.requires_grad
        ]
        weights = [(name, weight) for name, weight in weights if _has_units(weight)]
        if len(weights) > _MAX_WEIGHTS:
            start = self._cursor % len(weights)
            self._cursor = start + _MAX_WEIGHTS
            weights = [*weights[start:], *weights[:start]][:_MAX_WEIGHTS]
        if weights:
            at = (Mode.TRAIN.value, self._session.steps.number)
            rows = [_sample_rows(weight) for _, weight in weights]
            shapes = [(name, len(sample)) for (name, _), sample in zip(weights, rows, strict=True)]
            copies = HostCopies(rows)
            deliver(self._session, self.name, copies, lambda flat: self._count(shapes, flat, at))

    def _count(self, shapes: list[tuple[str, int]], rows: list[Tensor], at: StepId) -> None:
        """Record the distinct rows of each weight; runs in the worker thread."""
        for (name, units), flat in zip(shapes, rows, strict=True):
            content = flat.view(torch.uint8).numpy().tobytes()
            width = len(content) // units
            distinct = {content[start : start + width] for start in range(0, len(content), width)}
            kind, detail = ObservationKind.UNIT_COPIES, DistinctUnits(units).encode()
            self._session.recorder.observe(kind, name, float(len(distinct)), detail, at)


def _has_units(weight: Tensor) -> bool:
    """Return whether rows are units; rows of one element may be equal by chance."""
    if weight.dim() < _MATRIX_DIMENSIONS or not can_copy(weight):
        return False
    is_real = weight.is_floating_point() and weight.itemsize > 1
    return is_real and len(weight) >= _MIN_UNITS and weight.numel() > len(weight)


def _sample_rows(weight: Tensor) -> Tensor:
    flat = weight[:: -(-len(weight) // _MAX_UNITS)].flatten(1)
    return flat[:, :: -(-flat.shape[1] // _MAX_COLUMNS)]
