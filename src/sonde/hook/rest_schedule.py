"""Decides how long hooks rest, and reports what is therefore recorded less often."""

from math import ceil

from sonde.clock import NANOSECONDS
from sonde.formats import format_duration, format_percent
from sonde.hook.budget import COUNTED_LOSS_NS
from sonde.hook.session import Session
from sonde.records.notice import NoticeKind

_MAX_DELAY_NS = NANOSECONDS // 2  # until counts and losses are visible to readers
_MAX_STEPS = 4096
_NEVER = 1 << 62
_LOSS_SHARE = 1.0  # of the budget, for the losses of counted steps
_MIN_REPORTED_STEPS = 2000
_REPORTED_CHANGE = 4
_MIN_BARE_SHARE = 0.2  # minimum share of an inspected step that is assumed to be training
_MAX_COUNTED_STEPS = 2.0  # an inspected step counts as no more than this many counted steps


class RestSchedule:
    """When counted steps are recorded, and when the hooks return."""

    __slots__ = (
        *("steps_left", "deadline_ns", "step_seconds", "_due_in", "_turns", "_session"),
        *("_counted", "_inspected", "_reported_steps", "_reported_losses"),
    )

    def __init__(self, session: Session) -> None:
        self._session = session
        self.steps_left = 0  # until the next turn
        self.deadline_ns = 0  # of the next turn
        self.step_seconds = 0.0
        self._due_in = 0  # steps until something is due regardless of cost
        self._turns = 0
        self._counted = self._inspected = 0
        self._reported_steps = self._reported_losses = 0.0  # latest reported intervals

    def bare_seconds(self, latest_seconds: float) -> float:
        """How long steps take without hooks.

        Args:
            latest_seconds: Duration of the latest step, which was inspected.
        """
        budget = self._session.overhead.budget
        without_inspection = latest_seconds - budget.latest_inspection_seconds
        bare = max(without_inspection, _MIN_BARE_SHARE * latest_seconds)
        return min(bare, _MAX_COUNTED_STEPS * self.step_seconds) if self.step_seconds else bare

    def begin(self, step_seconds: float, due_in: int) -> None:
        """Start a rest after an inspected training step."""
        self.step_seconds, self._due_in = step_seconds, due_in
        self._inspected += 1

    def begin_outside(self) -> None:
        """Start a rest that lasts until an optimizer steps."""
        self.steps_left, self.deadline_ns, self._due_in = 1, _NEVER, 0

    def plan_turn(self) -> None:
        """Set the number of steps to count until the next turn."""
        budget, seconds = self._session.overhead.budget, max(self.step_seconds, 1e-6)
        until_room = budget.steps_until_inspection(seconds)
        self.steps_left = max(1, min(_MAX_STEPS, self._due_in, until_room))
        self.deadline_ns = self._session.clock.now_ns() + _MAX_DELAY_NS

    def begin_turn(self) -> int:
        """Start a turn; return the number of steps counted so far."""
        if self.deadline_ns == _NEVER:
            self.step_seconds = self._session.steps.latest_seconds
        return self._counted

    def is_inspection_due(self, counted_before: int) -> bool:
        """Whether to inspect a step, after the steps of this turn were added."""
        self._due_in -= self._counted - counted_before
        return self._due_in <= 0 or self._session.overhead.budget.has_room_for_inspection

    def continue_resting(self, *, is_due: bool) -> None:
        """Plan another turn instead of an inspection."""
        self._due_in = max(0 if is_due else 1, self._due_in)
        self.plan_turn()

    def end_soon(self) -> None:
        """Make the current step the last counted one; may be called by any thread."""
        self._due_in = self.steps_left = 0

    def may_record_losses(self) -> bool:
        """Whether this turn records losses.

        Every turn does if that is affordable, and at the beginning, where most faults show; else
        one in several.
        """
        budget = self._session.overhead.budget
        if budget.is_beginning:
            return True
        allowed_ns = _LOSS_SHARE * budget.share * self.step_seconds * NANOSECONDS
        every = ceil(COUNTED_LOSS_NS / max(allowed_ns, 1.0))
        self._turns += 1
        if every > max(1.0, _REPORTED_CHANGE * self._reported_losses):
            self._reported_losses = every
            self._report("losses", f"recorded for about 1 in {every} steps")
        return self._turns % every == 0

    def add_counted(self, count: int, seconds: float) -> None:
        """Add counted steps and their total duration."""
        self._counted += count
        self.step_seconds = seconds / count
        if self._inspected and self._counted >= _MIN_REPORTED_STEPS:
            every = (self._counted + self._inspected) / self._inspected
            if every > _REPORTED_CHANGE * self._reported_steps:
                self._reported_steps = every
                self._report("phases of steps", f"timed for about 1 in {every:.0f} steps")

    def _report(self, subject: str, change: str) -> None:
        step, percent = format_duration(self.step_seconds), self._session.overhead.budget.percent
        reason = f"{change}: a step takes {step}, and Sonde may use {format_percent(percent)} of it"
        self._session.store.notice(NoticeKind.CHANGED, subject, reason)
