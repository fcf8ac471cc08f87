"""Note the running means of batches that are only counted, as often as the budget allows."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.hook.round_counter import RoundCounter
from sonde.hook.session import Session
from sonde.records.notice import NoticeKind

LOSS = "loss"

_NOTED_LOSS_NS = 6_000  # cost of a noted loss
_REPORTED_FACTOR = 4


class CountedMeans:
    """Notes means between the ends of batches; several batches may share one."""

    def __init__(self, session: Session, counter: RoundCounter) -> None:
        self._session = session
        self._counter = counter
        self._interval = self._reported_interval = 1
        self._unnoted = 0  # batches since the last noted mean
        self._latest_ns = 0  # end of the latest program that computed several batches

    def begin(self) -> None:
        """Begin after a batch that was recorded by itself."""
        self._interval, self._unnoted = self._affordable_interval(), 0
        self._latest_ns = self._session.clock.now_ns()

    def note(self, logs: Mapping[str, Any] | None, batches: int) -> None:
        """Note the mean of a batch that is only counted.

        Args:
            logs: The running means.
            batches: The number of batches that its program has computed.
        """
        if batches > 1:
            self._note_earlier(batches)
        self._unnoted += batches
        if self._unnoted >= self._interval and logs and LOSS in logs:
            self._counter.note((logs[LOSS], self._unnoted))
            self._unnoted = 0

    def _note_earlier(self, batches: int) -> None:
        """Note the ends of batches that one program has computed before the last one."""
        now_ns = self._session.clock.now_ns()
        length_ns = (now_ns - self._latest_ns) // batches
        for position in range(1, batches):
            self._counter.note(self._latest_ns + position * length_ns)
        self._latest_ns = now_ns

    def _affordable_interval(self) -> int:
        """How many batches share a loss, so that losses stay within the budget."""
        session = self._session
        budget, seconds = session.overhead.budget, session.steps.latest_seconds
        allowed_ns = budget.share * seconds * NANOSECONDS
        every = max(1, ceil(_NOTED_LOSS_NS / max(allowed_ns, 1.0)))
        if every >= _REPORTED_FACTOR * self._reported_interval:
            self._reported_interval = every
            reason = (
                f"recorded once in about {every} batches: a batch takes "
                f"{format_duration(seconds)}, and Sonde may use {format_percent(budget.percent)} "
                "of it"
            )
            session.store.notice(NoticeKind.CHANGED, "losses", reason)
        return every
