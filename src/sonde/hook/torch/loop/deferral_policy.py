"""Decides for how many steps hooks are deferred or rest."""

from collections.abc import Callable
from math import ceil

import torch

from sonde.clock import NANOSECONDS
from sonde.hook.inspections import Inspections
from sonde.hook.session import Session
from sonde.records.step import Mode

_MAX_STEPS = 128
_INSPECTION_INTERVAL_SECONDS = 0.5  # an inspected step then costs about 0.2% of the time
_DEFERRED_STEP_NS = 80_000  # cost of a deferred step, including the replay of its notes
_MIN_BUDGET_USE = 1.0  # hooks rest if deferred steps would use this share of the budget
_MAX_LOOKAHEAD_STEPS = 256
_SETTLED_STEPS = 3  # first steps of a loop are always inspected
_is_cuda_in_use: Callable[[], bool] = torch.cuda.is_initialized


class DeferralPolicy:
    """Limits deferral by what is due, requested or affordable."""

    __slots__ = (
        *("max_steps", "_vetoes", "_is_exact"),
        *("_session", "_inspections", "_steps_until_due"),
    )

    def __init__(
        self,
        session: Session,
        steps_until_due: Callable[[float], int],
        inspections: Inspections,
    ) -> None:
        self._session = session
        self._inspections = inspections
        self._steps_until_due = steps_until_due
        self.max_steps = _MAX_STEPS
        # whether values of a step are compared between workers
        self._is_exact: Callable[[int], bool] = lambda _step: False
        # checks that currently need every step
        self._vetoes: list[Callable[[], bool]] = [lambda: session.requests.last_step.is_near]

    def veto_while(self, condition: Callable[[], bool]) -> None:
        """Inspect every step while a condition holds."""
        self._vetoes.append(condition)

    def inspect_at(self, is_exact: Callable[[int], bool]) -> None:
        """Set which steps are inspected because their values are compared between workers."""
        self._is_exact = is_exact

    def may_skip_inspection(self) -> bool:
        """Whether nothing requires inspecting the next steps."""
        session = self._session
        return (
            session.steps.counts["train"] >= _SETTLED_STEPS
            and not session.settings.stop_on_non_finite
            and not any(veto() for veto in self._vetoes)
            and "notes" not in session.guard.failed
        )

    def is_rest_worthwhile(self, step_seconds: float, *, is_plain: bool) -> bool:
        """Whether inspected or deferred steps would use too much of the budget.

        Args:
            step_seconds: How long steps take without hooks.
            is_plain: Whether steps could be deferred instead.
        """
        steps, budget = self._session.steps, self._session.overhead.budget
        if not self.max_steps or step_seconds <= 0 or not steps.is_inferred:
            return False
        if budget.records_every_step:
            return False
        if is_plain and self.may_defer:
            use = _DEFERRED_STEP_NS / NANOSECONDS / (budget.share * step_seconds)
        else:
            use = budget.inspection_share(step_seconds)
        return max(use, 0.0) >= _MIN_BUDGET_USE

    @property
    def may_defer(self) -> bool:
        """Whether hooks may be deferred: the values of a device could not be noted."""
        return not _is_cuda_in_use()

    def resting_steps(self) -> int:
        """The number of steps for which hooks may rest."""
        session = self._session
        due_in = session.windows.steps_until(session.steps.counts["train"])
        if session.plan.has_requests_for(Mode.TRAIN):
            due_in = min(due_in, self._steps_until_requested(_MAX_LOOKAHEAD_STEPS))
        if session.plan.has_inspections:
            due_in = min(due_in, self._inspections.steps_until_early())
        return due_in

    def deferred_steps(self, step_seconds: float) -> int:
        """The number of steps for which hooks may be deferred."""
        session = self._session
        count = min(self.max_steps, ceil(_INSPECTION_INTERVAL_SECONDS / step_seconds) - 1)
        count = min(count, session.windows.steps_until(session.steps.counts["train"]))
        count = min(count, self._steps_until_requested(count), self._steps_until_due(step_seconds))
        if session.plan.has_inspections:
            count = min(count, self._inspections.steps_until_early())
        return count

    def may_defer_evaluations(self, steps: int) -> bool:
        """Whether no inspection or request applies to evaluations within the given steps."""
        plan = self._session.plan
        if not self.may_defer:
            return False
        if plan.evaluations_are_needed and self._inspections.evaluations.is_due_within(steps):
            return False
        return not plan.has_requests_for(Mode.EVAL)

    def _steps_until_requested(self, max_steps: int) -> int:
        """Number of steps until one with an exact request."""
        session, first = self._session, self._session.steps.number
        for count in range(max_steps):
            number = first + count
            if session.plan.due_exactly(Mode.TRAIN, number) or self._is_exact(number):
                return count
        return max_steps
