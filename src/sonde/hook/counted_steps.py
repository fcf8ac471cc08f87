"""Training steps that are counted and timed but have no phases: only their ends were recorded."""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import sub
from typing import Any

from sonde.records.step import UNTIMED_DETAIL, EventCategory, Mode

EventRow = tuple[str, str, str, int, int, int, str, str]

LANE = "main"
_TRAIN, _STEP = Mode.TRAIN.value, EventCategory.STEP.value
_PHASE = EventCategory.PHASE.value


class CountedSteps:
    """Adds steps in bulk, one row each, without calling step listeners."""

    _emit: Callable[[EventRow], None]
    counts: dict[str, int]
    _last_end_ns: int
    _latest_ns: int
    _open: Any  # the current step
    _undecided: list[Any]
    is_explicit: bool
    forced_mode: str | None
    _evaluation: tuple[int, int] | None  # start and end of what runs between two training steps
    _finish: Callable[[], None]
    _previous: tuple[int, ...]  # the optimizers of the previous step

    @property
    def latest_optimizers(self) -> tuple[int, ...]:
        """The optimizers that stepped in the previous step."""
        return self._previous

    @property
    def is_inferred(self) -> bool:
        """Whether the script neither ends steps nor sets modes, and no pass is undecided."""
        return not (self.is_explicit or self.forced_mode is not None or self._undecided)

    def finish_repeated(self) -> bool:
        """End the current step if the same optimizers have stepped as in the previous step.

        Returns:
            Whether no optimizer has stepped in the current step.
        """
        if self._open.optimizers and set(self._open.optimizers) == set(self._previous):
            self._finish()
        return not self._open.optimizers

    def add_optimizer_steps(self, stepped: Sequence[tuple[int, int]]) -> None:
        """Record optimizer steps of the current step, given as pairs of optimizer and end time."""
        for optimizer, end_ns in stepped:
            self._open.update(optimizer, end_ns, is_skipped=False)

    def add_past_span(self, phase: str, start_ns: int, end_ns: int) -> None:
        """Add a phase of the current step that has ended before."""
        self._open.spans.append((phase, _PHASE, start_ns, end_ns - start_ns))

    def add_passes(self, mode: str, start_ns: int, ends_ns: Sequence[int]) -> None:
        """Add consecutive steps of an evaluation or prediction with these end times."""
        number = self.counts.get(mode, 0)
        for position, end_ns in enumerate(ends_ns):
            begin_ns = ends_ns[position - 1] if position else start_ns
            length_ns, step = end_ns - begin_ns, number + position
            row = (_STEP, _STEP, LANE, begin_ns, length_ns, step, mode, UNTIMED_DETAIL)
            self._emit(row)
        self.counts[mode] = number + len(ends_ns)
        first_ns = self._evaluation[0] if self._evaluation else start_ns
        self._evaluation = (first_ns, ends_ns[-1])

    def add_counted(self, ends_ns: Sequence[int]) -> int:
        """Add consecutive steps with these end times.

        Returns:
            The start of the first step.
        """
        first, count, end_ns = self.counts[_TRAIN], len(ends_ns), ends_ns[-1]
        began_ns = self._last_end_ns or ends_ns[0]
        starts_ns = [began_ns, *ends_ns[:-1]]
        rows = zip(
            *(repeat(_STEP), repeat(_STEP), repeat(LANE), starts_ns),
            *(map(sub, ends_ns, starts_ns), range(first, first + count), repeat(_TRAIN)),
            repeat(UNTIMED_DETAIL),
        )
        deque(map(self._emit, rows), maxlen=0)  # a loop without bytecode
        self._latest_ns = (end_ns - began_ns) // count
        self.counts[_TRAIN] = first + count
        self._last_end_ns = end_ns
        return began_ns
