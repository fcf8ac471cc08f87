"""Keeps a running job within its disk budget: full tensors fill a disk faster than sealing runs."""

from collections.abc import Callable

from sonde.clock import Clock
from sonde.store.backends import Backend
from sonde.store.retention import Removal, keep_within

_EVERY_SECONDS = 60.0


class DiskBudget:
    """Looks now and then how much the job takes, and removes the oldest raw data."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        budget_bytes: int,
        say: Callable[[str, str], None],
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._budget_bytes = budget_bytes
        self._say = say
        self._due = clock.seconds() + _EVERY_SECONDS
        self._is_said = False

    def keep(self) -> None:
        """Looks if it is time."""
        if self._clock.seconds() >= self._due:
            self._due = self._clock.seconds() + _EVERY_SECONDS
            self.keep_now()

    def keep_now(self) -> Removal:
        """Looks."""
        removal = keep_within(self._backend, self._budget_bytes)
        if removal.files and not self._is_said:
            self._is_said = True
            self._say(
                "raw data",
                f"the oldest is removed from now on, to stay within {self._budget_bytes} bytes",
            )
        return removal
