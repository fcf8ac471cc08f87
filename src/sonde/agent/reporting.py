"""Lets a process of its own write the report of a job that has ended, so that nothing waits long.

Charts need numpy and Arrow, which the launcher does without.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.side_process import SideProcess, sonde_command

RUNS_ELSEWHERE = 3  # exit code: another node of the job still runs, and writes it
_NO_TIME = "no time was left at the end of the job"
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
        self.problem: str | None = None  # why one that is wanted is not written

    def write(self, seconds: float) -> None:
        """Writes it within that time; what is not done by then, `sonde report` does."""
        if not self._is_wanted:
            return
        if seconds < _LEAST_SECONDS:
            self.problem = _NO_TIME
            return
        self.problem = "its process could not be started"
        self._process.start()
        has_ended, code = self._process.finish(seconds), self._process.code
        self.is_written = has_ended and code == 0
        is_failure = code not in (0, RUNS_ELSEWHERE)
        self.problem = f"its process ended with exit code {code}" if is_failure else None
        if not has_ended:
            self.problem = _NO_TIME
