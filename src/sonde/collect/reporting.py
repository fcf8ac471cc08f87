"""Lets a process of its own write the report of a job that has ended, so that nothing waits long.

Charts need numpy and Arrow, which the launcher does without.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.collect.side_process import SideProcess, sonde_command

_LEAST_SECONDS = 0.5  # with less it would not even start


def reporting_command(job_uri: str) -> tuple[str, ...]:
    """The command that writes the report of a job, with what rules have said so far."""
    return sonde_command("report", job_uri, "--at-end")


class Reporter:
    """Writes the report once, at the end."""

    def __init__(self, command: Sequence[str], clock: Clock, *, is_wanted: bool) -> None:
        self._process = SideProcess(command, clock)
        self._is_wanted = is_wanted
        self.is_written = False

    def write(self, seconds: float) -> None:
        """Writes it within that time; what is not done by then, `sonde report` does."""
        if not self._is_wanted or seconds < _LEAST_SECONDS:
            return
        self._process.start()
        self.is_written = self._process.finish(seconds) and self._process.code == 0
