"""Lets a process of its own seal closed segments, so that the launcher stays small.

Sealing needs numpy and Arrow, which would triple the launcher's memory and its start-up time.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.side_process import SideProcess, sonde_command

# A sealing process costs about a second of CPU, most of it for starting; what waits meanwhile
# stays a log, which is read as well.
_EVERY_SECONDS = 1800.0


def sealing_command(job_uri: str, node: str, budget_bytes: int) -> tuple[str, ...]:
    """The command that seals what a node has recorded."""
    words = ("compact", job_uri, "--node", node, "--budget", f"{budget_bytes}B", "--quiet")
    return sonde_command(*words)


class Sealer:
    """Seals now and then, and at the end."""

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
        """What it has cost so far."""
        return self._process.cpu_seconds

    def seal(self, closed_segments: int) -> None:
        """Starts sealing if it is time, segments were closed since, and nobody is at it."""
        is_busy = self._process.is_running()
        is_time = self._clock.seconds() >= self._due
        if is_time and not is_busy and closed_segments > self._sealed:
            self._sealed = closed_segments
            self._due = self._clock.seconds() + self._every_seconds
            self._process.start()

    def seal_all(self, seconds: float) -> None:
        """Seals what is left of a job that has ended, for at most that long.

        What is not done by then, `sonde compact` does another time.
        """
        self._process.run_once_more(seconds)
