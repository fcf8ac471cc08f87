"""When something is recorded: at which steps of a mode."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """Every so many steps from one step to another, the end not included; or just those listed."""

    every: int = 1
    start: int = 0  # the first step; every counts from here
    end: int | None = None
    steps: frozenset[int] | None = None  # where given, nothing else counts

    def is_due(self, step: int) -> bool:
        """Whether this step is one of them."""
        if self.steps is not None:
            return step in self.steps
        past = step - self.start
        return past >= 0 and past % self.every == 0 and (self.end is None or step < self.end)
