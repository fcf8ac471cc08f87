"""Enforce the disk budget of a running job between sealing runs."""

from collections.abc import Callable

from sonde.clock import Clock
from sonde.formats import format_bytes
from sonde.store.backends import Backend
from sonde.store.retention import Removal, keep_within

_EVERY_SECONDS = 60.0


class DiskBudget:
    """Periodically removes the oldest raw data if the job exceeds its budget."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        budget_bytes: int,
        on_removal: Callable[[str, str], None],
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._budget_bytes = budget_bytes
        self._on_removal = on_removal
        self._due = clock.seconds() + _EVERY_SECONDS
        self._is_reported = False

    def check(self) -> None:
        """Enforce the budget if a check is due."""
        if self._clock.seconds() >= self._due:
            self._due = self._clock.seconds() + _EVERY_SECONDS
            self.enforce()

    def enforce(self) -> Removal:
        """Remove the oldest raw data if the job exceeds its budget."""
        removal = keep_within(self._backend, self._budget_bytes)
        if removal.files and not self._is_reported:
            self._is_reported = True
            budget = format_bytes(self._budget_bytes)
            self._on_removal(
                "raw data", f"oldest files deleted to stay within the disk budget of {budget}"
            )
        return removal
