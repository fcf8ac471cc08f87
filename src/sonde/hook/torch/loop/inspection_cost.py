"""The true cost of inspections: steps with hooks compared with steps without."""

from typing import NamedTuple

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.session import Session
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_SMOOTHING = 0.3
_TOLERANCE = 1.05  # a reading is invalid if CPU time exceeds wall time by this factor


class InspectionCost:
    """Compares CPU time of the training thread with and without hooks.

    Timers inside the hooks miss very short calls and the cost of cold caches, which dominate in
    small steps.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bare_ns = 0.0  # CPU time of a step without hooks
        self._since = _Reading(0, 0, 0)  # when the hooks were last removed or restored
        self._hook_seconds = 0.0  # charged when the hooks were restored
        self._extra_seconds: float | None = None  # measured, not yet charged

    def hooks_return(self) -> None:
        """Measure the steps without hooks; called when the hooks are restored."""
        self.settle()
        since, self._since = self._since, self._read()
        bare_ns = self._since.step_ns(since)
        if bare_ns is not None:
            self._bare_ns += (_SMOOTHING if self._bare_ns else 1.0) * (bare_ns - self._bare_ns)
        self._hook_seconds = self._charged_seconds

    def hooks_leave(self, *, has_evaluated: bool) -> None:
        """Measure the steps with hooks; called when the hooks are removed.

        Args:
            has_evaluated: Whether evaluations have run since the hooks were restored.
        """
        since, self._since = self._since, self._read()
        step_ns = self._since.step_ns(since)
        is_comparable = not (has_evaluated or self._session.overhead.was_hidden)
        if step_ns is not None and self._bare_ns and is_comparable:
            extra_ns = (self._since.step - since.step) * (step_ns - self._bare_ns)
            self._extra_seconds = max(0.0, extra_ns / NANOSECONDS)

    def settle(self) -> None:
        """Charge the measured difference, after the last hook has charged its own time."""
        extra_seconds, self._extra_seconds = self._extra_seconds, None
        if extra_seconds is not None:
            timed_seconds = self._charged_seconds - self._hook_seconds
            self._session.overhead.budget.learn_inspection_cost(extra_seconds, timed_seconds)

    def _read(self) -> "_Reading":
        session = self._session
        return _Reading(session.steps.counts[_TRAIN], thread_cpu_ns(), session.clock.now_ns())

    @property
    def _charged_seconds(self) -> float:
        overhead = self._session.overhead
        return overhead.budget.hook_seconds + overhead.hook_ns / NANOSECONDS


class _Reading(NamedTuple):
    """Clock readings at the end of a step."""

    step: int
    cpu_ns: int
    now_ns: int

    def step_ns(self, since: "_Reading") -> float | None:
        """CPU time per step since an earlier reading; None if the clocks disagree."""
        steps, cpu_ns = self.step - since.step, self.cpu_ns - since.cpu_ns
        is_valid = (
            since.now_ns and steps > 0 and cpu_ns <= _TOLERANCE * (self.now_ns - since.now_ns)
        )
        return cpu_ns / steps if is_valid else None
