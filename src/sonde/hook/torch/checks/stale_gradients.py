"""Gradients that a script forgets to clear: still there when the next backward pass begins."""

import json
from operator import attrgetter
from typing import NamedTuple

from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.inspections import Looks
from sonde.hook.session import Session
from sonde.hook.steps import At
from sonde.hook.torch.loop.optimizers import Optimizers, parameters_of
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import Fetched, can_sample
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

PART = "gradients that are kept"
_MOST_PARAMETERS = 64  # of an optimizer, evenly spread
_version_of = attrgetter("_version")  # counts changes in place; there is no other name for it
_MOST_PASSES = 4  # backward passes between two steps of an optimizer: the first ones and the last


class _Seen(NamedTuple):
    """What was there when a backward pass began."""

    looked_at: int
    names: list[str]  # of parameters with a gradient
    gradients: Fetched
    left_alone: set[int]  # places of those that the pass has added nothing to, once it is over

    @property
    def is_of_others(self) -> bool:
        """Whether there were gradients, and the pass had nothing to do with them."""
        return bool(self.names) and len(self.left_alone) == len(self.names)

    def kept(self) -> list[str]:
        """The parameters whose gradients were there, and were added to."""
        values = self.gradients.values()
        return [
            name
            for place, name in enumerate(self.names)
            if any(values[place]) and place not in self.left_alone
        ]


class _UnderWay(NamedTuple):
    """The gradients that a backward pass has found, to be looked at again when it is over."""

    seen: _Seen
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

    kept: "KeptGradients"
    optimizer: int
    seen: list[_Seen]
    at: At

    def is_ready(self) -> bool:
        return all(one.gradients.is_ready() for one in self.seen)

    def take(self) -> None:
        self.kept.compare(self.optimizer, self.seen, self.at)


class KeptGradients:
    """Looks at an optimizer's gradients before each backward pass; cleared once is cleared.

    Where several optimizers take turns, a backward pass of one finds the gradients of another: they
    are cleared before its own. In a loop that accumulates, they are cleared before the first one.
    So all passes since the optimizer has stepped are looked at, or none. Gradients that a pass adds
    nothing to are no matter of its: a script may hand them over afterwards, from another model.
    """

    def __init__(
        self, session: Session, looks: Looks, names: Names, optimizers: Optimizers
    ) -> None:
        self._session = session
        self._looks = looks
        self._names = names
        self._optimizers = optimizers
        self._seen: dict[int, list[_Seen]] = {}
        self._begun: set[int] = set()  # optimizers that a backward pass has followed since
        self._under_way: list[_UnderWay] = []

    def backward_begins(self, _roots: object) -> None:
        """Nothing of this pass was added to any gradient yet."""
        if not self._session.plan.needs(ObservationKind.KEPT_GRADIENTS):
            return
        is_due = self._looks.is_due()
        self._under_way = []  # of a pass that has raised
        for number, optimizer in self._optimizers:
            if is_due and number not in self._begun:
                self._seen[number] = []
            self._begun.add(number)
            seen = self._seen.get(number)
            if seen is not None and all(one.names for one in seen):
                seen[_MOST_PASSES - 1 :] = [self._look(optimizer)]

    def backward_ends(self) -> None:
        """All of this pass was added."""
        under_way, self._under_way = self._under_way, []
        for seen, parameters, states in under_way:
            now = [_State.of(one) for one in parameters]
            seen.left_alone.update(
                place for place, before in enumerate(states) if now[place] == before
            )

    def before_update(self, _optimizer: Optimizer, number: int) -> None:
        """The optimizer uses what it has."""
        self._begun.discard(number)
        seen = self._seen.pop(number, None)
        if seen:
            at = (Mode.TRAIN.value, self._session.steps.number)
            if all(one.gradients.is_here for one in seen):  # few numbers: said with the step
                self.compare(number, seen, at)
            else:
                self._session.worker_thread.expect(PART, _Comparison(self, number, seen, at))

    def compare(self, optimizer: int, seen: list[_Seen], at: At) -> None:
        """What was kept at each of the passes; of devices, called in the backroom."""
        fewest = min((one.kept() for one in seen if not one.is_of_others), key=len, default=[])
        facts = {"of": seen[0].looked_at, "first": fewest[0] if fewest else ""}
        detail = json.dumps(facts, separators=(",", ":"))
        kind = ObservationKind.KEPT_GRADIENTS
        self._session.recorder.observe(kind, str(optimizer), float(len(fewest)), detail, at)

    def _look(self, optimizer: Optimizer) -> _Seen:
        parameters = [one for one in parameters_of(optimizer) if one.requires_grad]
        parameters = parameters[:: -(-len(parameters) // _MOST_PARAMETERS) or 1]
        found, gradients = [], []
        for parameter in parameters:
            gradient = None if parameter.grad is None else local(parameter.grad)
            if gradient is not None and can_sample(gradient):
                found.append(parameter)
                gradients.append(gradient)
        names = [self._names.name_of(one) or "" for one in found]
        seen = _Seen(len(parameters), names, Fetched(gradients), set())
        self._under_way.append(_UnderWay(seen, found, [_State.of(one) for one in found]))
        return seen
