"""Schedules: at which steps of a mode something is recorded."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """Every N steps in a half-open range, or an explicit set of steps."""

    every: int = 1
    start: int = 0  # first step; `every` counts from here
    end: int | None = None
    steps: frozenset[int] | None = None  # overrides the other fields

    def is_due(self, step: int) -> bool:
        """Whether the schedule includes a step."""
        if self.steps is not None:
            return step in self.steps
        past = step - self.start
        return past >= 0 and past % self.every == 0 and (self.end is None or step < self.end)
