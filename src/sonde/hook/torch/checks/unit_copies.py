"""Units of a layer that are copies of each other: they all learn the same, and are one."""

import json

import torch
from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.inspections import Looks
from sonde.hook.session import Session
from sonde.hook.steps import At
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import Brought, can_bring, deliver
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

PART = "copies of units"
_MATRIX = 2  # dimensions
_FEWEST_UNITS = 4
_MOST_UNITS = 128  # of a weight, evenly spread
_MOST_COLUMNS = 32
_MOST_WEIGHTS = 64  # at one look; of larger models others have their turn at the next


class UnitCopies:
    """Counts the different rows of weights, at the early looks."""

    def __init__(self, session: Session, looks: Looks, names: Names) -> None:
        self._session = session
        self._looks = looks
        self._names = names
        self._cursor = 0

    def before_update(self, optimizer: Optimizer, _number: int) -> None:
        """The weights are those that the step was computed with."""
        is_needed = self._session.plan.needs(ObservationKind.UNIT_COPIES)
        if not (is_needed and self._looks.is_due() and self._looks.is_early):
            return
        found = [
            (name, local(one).detach())
            for one in parameters_of(optimizer)
            if (name := self._names.name_of(one)) is not None and one.requires_grad
        ]
        found = [(name, weight) for name, weight in found if _has_units(weight)]
        if len(found) > _MOST_WEIGHTS:
            start = self._cursor % len(found)
            self._cursor = start + _MOST_WEIGHTS
            found = [*found[start:], *found[:start]][:_MOST_WEIGHTS]
        if found:
            at = (Mode.TRAIN.value, self._session.steps.number)
            rows = [_some_of(weight) for _, weight in found]
            shapes = [(name, len(few)) for (name, _), few in zip(found, rows, strict=True)]
            brought = Brought(rows)
            deliver(self._session, PART, brought, lambda flat: self._count(shapes, flat, at))

    def _count(self, shapes: list[tuple[str, int]], rows: list[Tensor], at: At) -> None:
        """Called in the backroom."""
        for (name, units), flat in zip(shapes, rows, strict=True):
            content = flat.view(torch.uint8).numpy().tobytes()
            width = len(content) // units
            different = {content[start : start + width] for start in range(0, len(content), width)}
            detail = json.dumps({"units": units}, separators=(",", ":"))
            kind = ObservationKind.UNIT_COPIES
            self._session.recorder.observe(kind, name, float(len(different)), detail, at)


def _has_units(weight: Tensor) -> bool:
    """Whether rows are units; those of a single number would be equal by chance."""
    if weight.dim() < _MATRIX or not can_bring(weight):
        return False
    is_real = weight.is_floating_point() and weight.itemsize > 1
    return is_real and len(weight) >= _FEWEST_UNITS and weight.numel() > len(weight)


def _some_of(weight: Tensor) -> Tensor:
    flat = weight[:: -(-len(weight) // _MOST_UNITS)].flatten(1)
    return flat[:, :: -(-flat.shape[1] // _MOST_COLUMNS)]
