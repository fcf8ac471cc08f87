"""Rewrite the report of a running job when findings change.

A separate process at the lowest priority does this: its memory is freed afterwards, and its
failures do not affect the rules.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.guard import Guard
from sonde.records.finding import Episode
from sonde.side_process import SideProcess
from sonde.store.backends import Backend
from sonde.store.report_cost import REPORT_COST, keep_report_cost

_FIRST_SECONDS = 5.0  # findings rarely come alone
_SHORT_SECONDS = 120.0  # the report at the end is enough for a job this short
_MIN_SECONDS = 60.0
_MAX_SHARE = 0.002  # of a core, on average


class ReportRefresh:
    """Rewrites the report soon after the first finding, then at limited intervals.

    Not in the first two minutes: rewriting it would cost more than everything else.
    """

    def __init__(self, process: SideProcess, backend: Backend, clock: Clock) -> None:
        self._process = process
        self._backend = backend
        self._clock = clock
        self._guard = Guard()
        self._is_changed = False  # since the last report was started
        self._is_writing = False
        self._due: float | None = None
        self._counted_seconds = 0.0
        self._is_begun = False
        self._earliest = clock.seconds() + _SHORT_SECONDS

    def take(self, changed: Sequence[Episode]) -> None:
        """Note changed episodes, if any; neither blocks nor raises."""
        self._guard.attempt("the report", lambda: self._take(changed), None)

    def close(self) -> None:
        """Cancel a report in progress; the final report is written elsewhere."""
        self._process.finish(0.0)
        if self._counted_seconds:  # from now on, the parent process counts it
            self._guard.attempt("the cost of reports", lambda: self._save_cost(0.0), None)

    def _take(self, changed: Sequence[Episode]) -> None:
        now = self._clock.seconds()
        self._begin()
        if changed:
            self._is_changed = True
            if self._due is None:
                self._due = max(now + _FIRST_SECONDS, self._earliest)
        if self._process.is_running():
            return
        if self._is_writing:
            self._is_writing = False
            self._schedule(now)
        if self._is_changed and self._due is not None and now >= self._due:
            self._is_changed, self._is_writing = False, True
            self._due = now + _MIN_SECONDS  # in case it cannot be started
            self._process.start()

    def _begin(self) -> None:
        """Reset the cost that an earlier monitor recorded, which has been counted."""
        if not self._is_begun:
            self._is_begun = True
            if self._backend.exists(REPORT_COST):
                self._save_cost(0.0)

    def _schedule(self, now: float) -> None:
        """Schedule the next report so that the CPU share is not exceeded."""
        counted_before, self._counted_seconds = self._counted_seconds, self._process.cpu_seconds
        pause = (self._counted_seconds - counted_before) / _MAX_SHARE
        self._due = now + max(_MIN_SECONDS, pause)
        self._save_cost(self._counted_seconds)

    def _save_cost(self, cpu_seconds: float) -> None:
        keep_report_cost(self._backend, self._clock, cpu_seconds)
