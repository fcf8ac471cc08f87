"""The report of a job that runs, written anew when findings change, beside the one who watches.

By a process of its own at the lowest priority: it needs memory that is given back, and whatever
becomes of it, rules go on.
"""

from collections.abc import Sequence

from sonde.clock import Clock
from sonde.guard import Guard
from sonde.records.finding import Episode
from sonde.side_process import SideProcess
from sonde.store.backends import Backend
from sonde.store.report_cost import REPORT_COST, keep_report_cost

_FIRST_SECONDS = 5.0  # what is found is seldom alone
_LEAST_SECONDS = 60.0
_MOST_SHARE = 0.002  # of a core, in the long run


class ReportRefresh:
    """Has the report rewritten: soon after the first finding, then ever so often."""

    def __init__(self, process: SideProcess, backend: Backend, clock: Clock) -> None:
        self._process = process
        self._backend = backend
        self._clock = clock
        self._guard = Guard()
        self._is_changed = False  # since the last one was begun
        self._is_writing = False
        self._due: float | None = None
        self._counted_seconds = 0.0
        self._is_begun = False

    def take(self, changed: Sequence[Episode]) -> None:
        """What has changed since the last look, maybe nothing; neither waits nor raises."""
        self._guard.attempt("the report", lambda: self._take(changed), None)

    def close(self) -> None:
        """Nobody watches any more: what is being written is given up, the end has its own."""
        self._process.finish(0.0)
        if self._counted_seconds:  # from now on whoever started us counts that
            self._guard.attempt("the cost of reports", lambda: self._keep_cost(0.0), None)

    def _take(self, changed: Sequence[Episode]) -> None:
        now = self._clock.seconds()
        self._begin()
        if changed:
            self._is_changed = True
            self._due = now + _FIRST_SECONDS if self._due is None else self._due
        if self._process.is_running():
            return
        if self._is_writing:
            self._is_writing = False
            self._rest(now)
        if self._is_changed and self._due is not None and now >= self._due:
            self._is_changed, self._is_writing = False, True
            self._due = now + _LEAST_SECONDS  # where it cannot even be started
            self._process.start()

    def _begin(self) -> None:
        """What another one has kept is counted by now."""
        if not self._is_begun:
            self._is_begun = True
            if self._backend.exists(REPORT_COST):
                self._keep_cost(0.0)

    def _rest(self, now: float) -> None:
        """The next one not before its share of a core allows it."""
        spent, self._counted_seconds = self._counted_seconds, self._process.cpu_seconds
        pause = (self._counted_seconds - spent) / _MOST_SHARE
        self._due = now + max(_LEAST_SECONDS, pause)
        self._keep_cost(self._counted_seconds)

    def _keep_cost(self, cpu_seconds: float) -> None:
        keep_report_cost(self._backend, self._clock, cpu_seconds)
