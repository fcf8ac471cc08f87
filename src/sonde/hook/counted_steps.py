"""Training steps of which only the end was seen: counted and timed, without phases."""

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import sub
from typing import Any

from sonde.records.step import UNTIMED_DETAIL, EventCategory, Mode

EventRow = tuple[str, str, str, int, int, int, str, str]

LANE = "main"
_TRAIN, _STEP = Mode.TRAIN.value, EventCategory.STEP.value


class CountedSteps:
    """Adds steps in bulk: one row each, and nobody else is told."""

    _emit: Callable[[EventRow], None]
    counts: dict[str, int]
    _last_end_ns: int
    _latest_ns: int
    _open: Any  # the step under way
    _undecided: list[Any]
    is_explicit: bool
    forced_mode: str | None
    _finish: Callable[[], None]
    _previous: tuple[int, ...]  # the optimizers of the step before

    @property
    def latest_optimizers(self) -> tuple[int, ...]:
        """Those that have stepped in the step before."""
        return self._previous

    @property
    def is_seen_alone(self) -> bool:
        """Whether nobody says what the steps are, and no pass waits to be understood."""
        return not (self.is_explicit or self.forced_mode is not None or self._undecided)

    def finish_repeated(self) -> bool:
        """End the step under way if the same optimizers have stepped in it as in the one before.

        Returns:
            Whether no optimizer has stepped in the step under way.
        """
        if self._open.stepped and set(self._open.stepped) == set(self._previous):
            self._finish()
        return not self._open.stepped

    def carry(self, stepped: Sequence[tuple[int, int]]) -> None:
        """These optimizers have stepped in the step under way, at these instants."""
        for optimizer, end_ns in stepped:
            self._open.update(optimizer, end_ns, is_skipped=False)

    def add_counted(self, ends_ns: Sequence[int]) -> int:
        """Add steps that follow each other without a gap, by their ends.

        Returns:
            When the first of them began.
        """
        first, count, end_ns, emit = self.counts[_TRAIN], len(ends_ns), ends_ns[-1], self._emit
        began_ns = self._last_end_ns or ends_ns[0]
        starts_ns = [began_ns, *ends_ns[:-1]]
        rows = zip(
            *(repeat(_STEP), repeat(_STEP), repeat(LANE), starts_ns),
            *(map(sub, ends_ns, starts_ns), range(first, first + count), repeat(_TRAIN)),
            repeat(UNTIMED_DETAIL),
        )
        for row in rows:
            emit(row)
        self._latest_ns = (end_ns - began_ns) // count
        self.counts[_TRAIN] = first + count
        self._last_end_ns = end_ns
        return began_ns
