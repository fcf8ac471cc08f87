"""What inspections really cost: steps with hooks compared with the steps before that had none."""

from typing import NamedTuple

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.session import Session
from sonde.records.step import Mode

_TRAIN = Mode.TRAIN.value
_SMOOTHING = 0.3
_TOLERANCE = 1.05  # CPU time beyond the time that has passed: one of the clocks was stopped


class InspectionCost:
    """Compares CPU times of the training thread, in turns with hooks and without.

    The clocks inside the hooks miss what is too short to be timed and the caches that hooks leave
    cold, which is most of the cost of small steps.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bare_ns = 0.0  # CPU time of a step without hooks
        self._since = _Reading(0, 0, 0)  # when the hooks were last taken out or put back
        self._hook_seconds = 0.0  # on the account when they were put back
        self._extra_seconds: float | None = None  # measured, not yet on the account

    def hooks_return(self) -> None:
        """The hooks are put back after some steps that were only counted."""
        self.settle()
        since, self._since = self._since, self._read()
        bare_ns = self._since.step_ns(since)
        if bare_ns is not None:
            self._bare_ns += (_SMOOTHING if self._bare_ns else 1.0) * (bare_ns - self._bare_ns)
        self._hook_seconds = self._on_account

    def hooks_leave(self, *, has_evaluated: bool) -> None:
        """The hooks are taken out again.

        Args:
            has_evaluated: Whether something else than training steps has run since they returned.
        """
        since, self._since = self._since, self._read()
        step_ns = self._since.step_ns(since)
        if step_ns is not None and self._bare_ns and not has_evaluated:
            extra_ns = (self._since.step - since.step) * (step_ns - self._bare_ns)
            self._extra_seconds = max(0.0, extra_ns / NANOSECONDS)

    def settle(self) -> None:
        """Put the difference on the account, once the last hook has put its own time there."""
        extra_seconds, self._extra_seconds = self._extra_seconds, None
        if extra_seconds is not None:
            timed_seconds = self._on_account - self._hook_seconds
            self._session.overhead.budget.inspection_cost(extra_seconds, timed_seconds)

    def _read(self) -> "_Reading":
        session = self._session
        return _Reading(session.steps.counts[_TRAIN], thread_cpu_ns(), session.clock.now_ns())

    @property
    def _on_account(self) -> float:
        overhead = self._session.overhead
        return overhead.budget.hook_seconds + overhead.hook_ns / NANOSECONDS


class _Reading(NamedTuple):
    """The clocks at the end of a step."""

    step: int
    cpu_ns: int
    now_ns: int

    def step_ns(self, since: "_Reading") -> float | None:
        """CPU time of a step since an earlier reading; None where the clocks do not agree."""
        steps, cpu_ns = self.step - since.step, self.cpu_ns - since.cpu_ns
        is_valid = (
            since.now_ns and steps > 0 and cpu_ns <= _TOLERANCE * (self.now_ns - since.now_ns)
        )
        return cpu_ns / steps if is_valid else None
