"""Seal closed segments in a separate process.

Sealing needs NumPy and Arrow, which would triple the launcher's memory and start-up time.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.side_process import SideProcess, sonde_command

# A sealing process takes about a second of CPU time, mostly to start. Unsealed logs are readable,
# too.
_EVERY_SECONDS = 1800.0


def sealing_command(job_uri: str, node: str, budget_bytes: int) -> tuple[str, ...]:
    """The command that seals the data of a node."""
    words = ("compact", job_uri, "--node", node, "--budget", f"{budget_bytes}B", "--quiet")
    return sonde_command(*words)


class Sealer:
    """Seals periodically and at the end."""

    def __init__(
        self, command: Sequence[str], clock: Clock, every_seconds: float = _EVERY_SECONDS
    ) -> None:
        self._process = SideProcess(command, clock)
        self._clock = clock
        self._sealed = 0
        self._every_seconds = every_seconds
        self._due = clock.seconds() + every_seconds

    @property
    def cpu_seconds(self) -> float:
        """CPU time used so far."""
        return self._process.cpu_seconds

    def seal(self, closed_segments: int) -> None:
        """Start sealing if it is due, there are new closed segments, and it is not running."""
        is_busy = self._process.is_running()
        is_time = self._clock.seconds() >= self._due
        if is_time and not is_busy and closed_segments > self._sealed:
            self._sealed = closed_segments
            self._due = self._clock.seconds() + self._every_seconds
            self._process.start()

    def seal_all(self, seconds: float) -> None:
        """Seal the rest of a finished job, up to a timeout.

        `sonde compact` can seal the rest later.
        """
        self._process.run_once_more(seconds)
