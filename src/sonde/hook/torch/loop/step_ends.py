"""Notes of counted steps: the end of each step, its loss and other values."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

_NORM_EPSILON = 1e-6  # added by clip_grad_norm_ before dividing
_OPTIMIZER_STEP = 3  # length of an optimizer note if there are several optimizers


class ClippedNorm(NamedTuple):
    """A gradient norm and its clipping limit."""

    norm: float
    limit: float

    @property
    def factor(self) -> float:
        """The factor applied to the gradients."""
        return min(1.0, self.limit / (self.norm + _NORM_EPSILON))


@dataclass(slots=True)
class CountedNotes:
    """Notes sorted by step."""

    ends_ns: list[int] = field(default_factory=list)
    losses: list[tuple[int, float]] = field(default_factory=list)  # by position of the step
    # other notes by position of the step
    extras: list[tuple[int, Any]] = field(default_factory=list)
    pending: list[float] = field(default_factory=list)  # losses of the current step


class StepEnds:
    """Finds the ends of steps with one or several optimizers.

    Notes are in chronological order: the value of a loss; a list of changed learning rates; a
    clipped gradient norm; a wait for data (start, end); the end of an optimizer step, or (end,
    identity of the optimizer, None) with several optimizers.
    """

    def __init__(self) -> None:
        # optimizers of the current step, and their end times
        self.optimizer_ends: list[tuple[int, int]] = []
        self._numbers: dict[int, int] = {}  # optimizer numbers by identity
        self._previous: tuple[int, ...] = ()  # optimizers of the previous step

    def begin(self, numbers: dict[int, int], previous: tuple[int, ...]) -> None:
        """Start counting steps.

        Args:
            numbers: Optimizer numbers by identity.
            previous: The optimizers of the latest step.
        """
        self._numbers, self._previous = numbers, previous

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
        if kinds == [float, int] * (len(kinds) // 2):
            return CountedNotes(notes[1::2], list(enumerate(notes[::2])))
        return self._sort_mixed(notes)

    def _sort_mixed(self, notes: list[Any]) -> CountedNotes:
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
            if len(pending) == 1:  # with several losses, the step's loss is unknown
                counted.losses.append((len(ends_ns) - 1, pending[0]))
            pending.clear()
        return counted

    def _ends_step(self, note: tuple[int, int, None], ends_ns: list[int]) -> bool:
        """Add an optimizer step; return whether it starts a new step."""
        end_ns, optimizer, _ = note
        number = self._numbers.get(optimizer, -1)
        numbers = [earlier for earlier, _ in self.optimizer_ends]
        is_over = number in numbers
        if is_over:
            position = numbers.index(number)
            if position and tuple(numbers[:position]) == self._previous:  # alternating optimizers
                ends_ns.append(self.optimizer_ends[position - 1][1])
                numbers = numbers[position:]
            ends_ns.append(self.optimizer_ends[-1][1])
            self._previous = tuple(numbers)
            self.optimizer_ends.clear()
        self.optimizer_ends.append((number, end_ns))
        return is_over
