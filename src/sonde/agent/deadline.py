"""A point in time by which something must be done."""

from sonde.clock import Clock


class Deadline:
    """A deadline some seconds from now."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._due = clock.seconds() + seconds

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 after it."""
        return max(0.0, self._due - self._clock.seconds())
