"""Retry opening the store of a worker while it cannot be written."""

import atexit
import multiprocessing.util
import os
from collections.abc import Callable

from sonde.clock import Clock
from sonde.errors import StoreError
from sonde.hook.loss_report import send_losses
from sonde.records.notice import TRAINING_STEPS, Notice, NoticeKind
from sonde.settings import WorkerPlacement
from sonde.store.writer import Writer

_FIRST_PAUSE_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 10.0


class OpeningAttempts:
    """Schedules attempts to open the store, and reports what was lost until one succeeds."""

    def __init__(self, worker: WorkerPlacement, clock: Clock) -> None:
        self._worker = worker
        self._clock = clock
        self._pid = os.getpid()
        self._due = 0.0
        self._pause = _FIRST_PAUSE_SECONDS
        self._since_ns = 0
        self._reason = ""
        self._is_given_up = False

    def is_due(self) -> bool:
        """Whether to try now."""
        if not self._due:
            return True
        return not self._is_given_up and self._clock.seconds() >= self._due

    def attempt(self, begin: Callable[[], None]) -> None:
        """Call `begin`; if the store fails, schedule the next attempt."""
        try:
            begin()
        except StoreError as error:
            self._due = self._clock.seconds() + self._pause
            self._pause = min(2 * self._pause, _MAX_PAUSE_SECONDS)
            self._note_failure(str(error))

    def report_to(self, writer: Writer) -> None:
        """Record what was lost before the store could be opened."""
        loss, self._reason = self._loss(), ""
        if loss is not None:
            writer.report_lost(loss)

    def give_up(self, reason: str) -> None:
        """Stop trying, because something other than the store has failed."""
        self._due, self._is_given_up = 1.0, True
        self._note_failure(reason)

    def _note_failure(self, reason: str) -> None:
        """Note a failure, which is reported at exit unless a later attempt succeeds."""
        if not self._reason:
            self._since_ns = self._clock.now_ns()
            # processes of multiprocessing end without atexit
            multiprocessing.util.Finalize(None, self._report, exitpriority=1)
            atexit.register(self._report)
        self._reason = reason

    def _loss(self) -> Notice | None:
        if not self._reason:
            return None
        now_ns = self._clock.now_ns()
        return Notice(NoticeKind.LOST_STEPS, TRAINING_STEPS, self._reason, self._since_ns, now_ns)

    def _report(self) -> None:
        loss = self._loss()
        if loss is not None and self._pid == os.getpid():
            send_losses(self._worker.run_id, self._worker.rank, [loss], is_recorded=False)
            self._reason = ""
