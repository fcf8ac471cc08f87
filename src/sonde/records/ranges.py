"""Ranges of time and of steps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A half-open range of time; None means unbounded."""

    start_ns: int | None = None
    end_ns: int | None = None

    def overlaps(self, first_ns: int, last_ns: int) -> bool:
        """Whether the range contains any of first..last (inclusive)."""
        after_start = self.start_ns is None or last_ns >= self.start_ns
        return after_start and (self.end_ns is None or first_ns < self.end_ns)


@dataclass(frozen=True, slots=True)
class StepRange:
    """A half-open range of steps; None means unbounded."""

    start: int | None = None
    end: int | None = None

    def overlaps(self, first: int, last: int) -> bool:
        """Whether the range contains any of first..last (inclusive)."""
        after_start = self.start is None or last >= self.start
        return after_start and (self.end is None or first < self.end)


EVER = TimeRange()
ANY_STEP = StepRange()
