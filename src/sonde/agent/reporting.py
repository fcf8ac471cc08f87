"""Write the report at the end of a job in a separate process.

Charts need NumPy and Arrow, which the launcher does not import.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.side_process import SideProcess, sonde_command
from sonde.store.backends import Backend
from sonde.store.report_writing import mark_report, unmark_report

RUNS_ELSEWHERE = 3  # exit code: another node is still running and writes the report
_NO_TIME = "not enough time at the end of the job"
_MIN_SECONDS = 0.5  # the process needs this long to start


def reporting_command(job_uri: str) -> tuple[str, ...]:
    """The command that writes the report with the recorded findings."""
    return sonde_command("report", job_uri, "--at-end")


class Reporter:
    """Writes the report once, at the end."""

    def __init__(
        self, backend: Backend, command: Sequence[str], clock: Clock, *, is_enabled: bool
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._process = SideProcess(command, clock)
        self._is_enabled = is_enabled
        self.is_written = False
        self.is_left_behind = False
        self.problem: str | None = None  # why an enabled report is missing

    def skip(self, reason: str) -> None:
        """Write no report, and say why if one is requested."""
        self.problem = reason if self._is_enabled else None

    def write(self, seconds: float, patience: float | None = None) -> None:
        """Write the report, up to a timeout; `sonde report` can write it later.

        Args:
            seconds: The timeout.
            patience: Leave the process behind after this time; None to stop it at the timeout.
        """
        if not self._is_enabled:
            return
        if seconds < _MIN_SECONDS:
            self.problem = _NO_TIME
            return
        self.problem = "the report process could not be started"
        self._process.start()
        if patience is not None and not self._process.wait(min(patience, seconds)):
            self._leave_behind()
            return
        has_ended, code = self._process.finish(seconds), self._process.code
        self.is_written = has_ended and code == 0
        is_failure = code not in (0, RUNS_ELSEWHERE)
        self.problem = f"the report process exited with code {code}" if is_failure else None
        if not has_ended:
            self.problem = _NO_TIME

    def _leave_behind(self) -> None:
        """Let the process finish alone, and let others know."""
        self.problem, self.is_left_behind = None, True
        if self._process.pid is not None:
            mark_report(self._backend, self._clock, self._process.pid)
        if not self._process.is_running():  # it could not see the marker
            unmark_report(self._backend)
