"""Notes of steps that were only counted: where each step ends, its loss, and what came with it."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

_SLACK = 1e-6  # what clip_grad_norm_ adds to a norm before it divides
_OPTIMIZER_STEP = 3  # the length of a note of an optimizer's step, where there are several


class ClippedNorm(NamedTuple):
    """A gradient norm, and the limit that it was clipped to."""

    norm: float
    limit: float

    @property
    def factor(self) -> float:
        """What the gradients were multiplied by."""
        return min(1.0, self.limit / (self.norm + _SLACK))


@dataclass(slots=True)
class CountedNotes:
    """The notes of some steps, sorted."""

    ends_ns: list[int] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)  # by position of their step
    extras: list[tuple[int, Any]] = field(default_factory=list)  # all other notes
    pending: list[float] = field(default_factory=list)  # losses of the step under way


class StepEnds:
    """Finds the ends of steps in which one optimizer steps, or several.

    Notes are in order: the value of a loss; a list of learning rates that have changed; a clipped
    gradient norm; a wait for data (start, end); the end of an optimizer step, or (end, identity of
    the optimizer, None) where there are several optimizers.
    """

    def __init__(self) -> None:
        self.stepped: list[tuple[int, int]] = []  # optimizers of the step under way, and when
        self._numbers: dict[int, int] = {}  # of optimizers, by identity
        self._previous: tuple[int, ...] = ()  # the optimizers of the step before

    def begin(self, numbers: dict[int, int], previous: tuple[int, ...]) -> None:
        """Hooks begin to rest.

        Args:
            numbers: Numbers of all optimizers, by identity.
            previous: The optimizers of the latest step.
        """
        self._numbers, self._previous = numbers, previous

    @property
    def is_between_steps(self) -> bool:
        """Whether no step is under way, as far as can be told from the one before."""
        stepped = {number for number, _ in self.stepped}
        return not stepped or stepped == set(self._previous)

    def sort(self, notes: list[Any]) -> CountedNotes:
        """Assign notes to steps."""
        counted = CountedNotes()
        ends_ns, pending = counted.ends_ns, counted.pending
        for note in notes:
            kind = type(note)
            if kind is float:
                pending.append(note)
                continue
            if kind is int:
                ends_ns.append(note)
            elif kind is list or len(note) != _OPTIMIZER_STEP:
                counted.extras.append((len(ends_ns), note))
                continue
            elif not self._ends_step(note, ends_ns):
                continue
            if len(pending) == 1:  # of several, none is known to be the step's
                counted.losses.append((len(ends_ns) - 1, pending[0]))
            pending.clear()
        return counted

    def _ends_step(self, note: tuple[int, int, None], ends_ns: list[int]) -> bool:
        """An optimizer has stepped; whether that begins another step."""
        end_ns, optimizer, _ = note
        number = self._numbers.get(optimizer, -1)
        numbers = [earlier for earlier, _ in self.stepped]
        is_over = number in numbers
        if is_over:
            position = numbers.index(number)
            if position and tuple(numbers[:position]) == self._previous:  # they take turns
                ends_ns.append(self.stepped[position - 1][1])
                numbers = numbers[position:]
            ends_ns.append(self.stepped[-1][1])
            self._previous = tuple(numbers)
            self.stepped.clear()
        self.stepped.append((number, end_ns))
        return is_over
