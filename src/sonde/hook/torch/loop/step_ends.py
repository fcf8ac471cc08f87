"""Notes of counted steps: the end of each step, its loss and other values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch import Tensor

from sonde.hook.torch.loop.losses import LossRecipe

_NORM_EPSILON = 1e-6  # added by clip_grad_norm_ before dividing
_OPTIMIZER_STEP = 3  # length of an optimizer note if there are several optimizers


class ClippedNorm(NamedTuple):
    """A gradient norm and its clipping limit."""

    norm: float | Tensor  # a copy on the device that computed it
    limit: float

    def factor(self, norm: float) -> float:
        """The factor applied to gradients of this norm."""
        return min(1.0, self.limit / (norm + _NORM_EPSILON))


class LossTerms(NamedTuple):
    """Values from which the loss of a step is computed."""

    position: int  # of the step
    recipe: LossRecipe
    values: list[float | Tensor]


@dataclass(slots=True)
class CountedNotes:
    """Notes sorted by step."""

    ends_ns: list[int] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)  # by position of the step
    terms: list[LossTerms] = field(default_factory=list)  # of the other losses
    # other notes by position of the step
    extras: list[tuple[int, Any]] = field(default_factory=list)
    pending: list[float | Tensor] = field(default_factory=list)  # losses of the current step


class StepEnds:
    """Finds the ends of steps with one or several optimizers.

    Notes are in chronological order: the value of a loss, or a copy on its device; a list of
    changed learning rates; a clipped gradient norm; a wait for data (start, end); the end of an
    optimizer step, or (end, identity of the optimizer, None) with several optimizers.
    """

    def __init__(self) -> None:
        # optimizers of the current step, and their end times
        self.optimizer_ends: list[tuple[int, int]] = []
        self._numbers: dict[int, int] = {}  # optimizer numbers by identity
        self._previous: tuple[int, ...] = ()  # optimizers of the previous step
        self._recipes: Mapping[int, LossRecipe] = {}  # by optimizer
        self._single: LossRecipe | None = None  # the recipe of the only optimizer

    def begin(
        self,
        numbers: dict[int, int],
        previous: tuple[int, ...],
        recipes: Mapping[int, LossRecipe],
    ) -> None:
        """Start counting steps.

        Args:
            numbers: Optimizer numbers by identity.
            previous: The optimizers of the latest step.
            recipes: How losses were computed in the latest step, by optimizer.
        """
        self._numbers, self._previous, self._recipes = numbers, previous, recipes
        self._single = next(iter(recipes.values())) if len(recipes) == 1 else None

    @property
    def is_between_steps(self) -> bool:
        """Whether all optimizers of the previous step have stepped in the current one."""
        stepped = {number for number, _ in self.optimizer_ends}
        return not stepped or stepped == set(self._previous)

    def sort(self, notes: list[Any]) -> CountedNotes:
        """Assign notes to steps."""
        kinds = list(map(type, notes))
        if kinds == [int] * len(kinds):
            return CountedNotes(notes)
        is_plain = self._single is not None and self._single.is_plain
        if is_plain and kinds == [float, int] * (len(kinds) // 2):
            return CountedNotes(notes[1::2], list(enumerate(notes[::2])))
        return self._sort_mixed(notes)

    def _sort_mixed(self, notes: list[Any]) -> CountedNotes:
        counted = CountedNotes()
        ends_ns, pending = counted.ends_ns, counted.pending
        for note in notes:
            kind = type(note)
            if kind is float or kind is Tensor:
                pending.append(note)
            elif kind is int:
                ends_ns.append(note)
                _take_losses(counted, len(ends_ns) - 1, self._single)
            elif kind is list or len(note) != _OPTIMIZER_STEP:
                counted.extras.append((len(ends_ns), note))
            else:
                self._end_step(note, ends_ns)
                recipe = self._recipes.get(self._numbers.get(note[1], -1))
                _take_losses(counted, len(ends_ns), recipe)
        return counted

    def _end_step(self, note: tuple[int, int, None], ends_ns: list[int]) -> None:
        """Add an optimizer step, which ends the previous step if the optimizer stepped in it."""
        end_ns, optimizer, _ = note
        number = self._numbers.get(optimizer, -1)
        numbers = [earlier for earlier, _ in self.optimizer_ends]
        if number in numbers:
            position = numbers.index(number)
            if position and tuple(numbers[:position]) == self._previous:  # alternating optimizers
                ends_ns.append(self.optimizer_ends[position - 1][1])
                numbers = numbers[position:]
            ends_ns.append(self.optimizer_ends[-1][1])
            self._previous = tuple(numbers)
            self.optimizer_ends.clear()
        self.optimizer_ends.append((number, end_ns))


def _take_losses(counted: CountedNotes, position: int, recipe: LossRecipe | None) -> None:
    """Assign the pending values to a step, unless it differs from the latest inspected step."""
    values = counted.pending.copy()
    counted.pending.clear()
    if recipe is None or len(values) != len(recipe.weights):
        return
    first, is_over = values[0], position < len(counted.ends_ns)
    if recipe.is_plain and is_over and isinstance(first, float):
        counted.losses.append((position, first))
    else:
        counted.terms.append(LossTerms(position, recipe, values))
