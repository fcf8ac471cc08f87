"""Schedule of close inspections: expensive checks that no rule needs at every step.

Inspections are frequent at the beginning, where most faults show: steps 0, 1, 2, 3, 5, 8, 12, 18
and 27, then 34, 43, 54 and so on, each step number 25% larger than the last. Between these, they
run as often as their share of the overhead budget allows. The first steps of an optimizer that is
created later are inspected too, and so are steps whose loss is far out of range.
"""

from collections.abc import Callable

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.budget import Price
from sonde.hook.session import Session

_GROWTH = 1.5
_LATER_GROWTH = 1.25  # small enough to cover jobs of a few hundred steps to their end
_LATER_STEP = 27
_MIN_PAUSE_STEPS = 20  # between two inspections after the early ones
_SLACK_STEPS = 64  # an open profiling window may delay an early inspection by this much
_NEW_OPTIMIZER_STEPS = (0, 1, 2, 3, 5, 8)  # after an optimizer is created later
_NEW_OPTIMIZER_PAUSE_STEPS = 100  # some scripts create an optimizer every few batches
_MAX_FORWARDS = 4  # passes per step; more than one if optimizers take turns
_MAX_EVALUATION_PASSES = 64
_MAX_THREAD_DEBT_SECONDS = 1.0  # five times the cost of decoding a Python profile
_MAX_UNUSUAL_STEPS = 8  # steps of a job that are inspected because their loss is out of range


class EvaluationInspections:
    """Decides which passes of an evaluation are inspected."""

    def __init__(self, step_counts: Callable[[], dict[str, int]]) -> None:
        self._step_counts = step_counts
        self.restart(0)

    def restart(self, step: int) -> None:
        """Start over at this training step."""
        self.first_step = self._due_step = step  # the early steps count from `first_step`
        self._evaluated_step = -1
        self._passes = 0

    def begin_pass(self) -> None:
        """Count an evaluation pass whose hooks are active."""
        step = self._step_counts()["train"]
        if step != self._evaluated_step:
            self._evaluated_step, self._passes = step, 0
            self._due_step = next_early_step(self.first_step, step)
        self._passes += 1

    @property
    def is_pass_due(self) -> bool:
        """Whether to inspect the current pass: true for the first passes of each evaluation."""
        return self._passes <= _MAX_EVALUATION_PASSES

    def is_due_within(self, steps: int) -> bool:
        """Whether to inspect an evaluation that begins within this many training steps."""
        return self._step_counts()["train"] + steps >= self._due_step


class Inspections:
    """Decides once per step whether to inspect it, and tracks what inspections cost."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._price = Price()
        self.evaluations = EvaluationInspections(lambda: session.steps.counts)
        self._restart()
        session.listeners.on_begin(self._restart)

    def _restart(self) -> None:
        self._first = self._early_due = self._last = self._steps_done
        self.evaluations.restart(self._first)
        self._step = -1
        self._is_inspected = False
        self.is_early = False  # the current step is inspected regardless of the budget
        self._new_optimizer_steps: tuple[int, ...] = ()  # early steps too
        self._spent_seconds = 0.0
        self._forwards: list[object] = []  # inspected passes of the current step
        self._unusual_steps = 0
        self._counted = 0  # steps without hooks since the last decision

    def steps_counted(self, steps: int) -> None:
        """Count steps for which `is_due` was never called."""
        self._counted += steps

    @property
    def _steps_done(self) -> int:
        return self._session.steps.counts["train"]

    def optimizer_created(self) -> None:
        """Inspect the next steps: a newly created optimizer may begin to train."""
        step, previous = self._steps_done, self._new_optimizer_steps
        has_paused = not previous or step >= previous[0] + _NEW_OPTIMIZER_PAUSE_STEPS
        if step > self._first and has_paused:
            self._new_optimizer_steps = tuple(step + offset for offset in _NEW_OPTIMIZER_STEPS)

    def is_due(self) -> bool:
        """Whether to inspect the current training step."""
        step = self._steps_done
        if step != self._step:
            self._step = step
            self._forwards.clear()
            self._is_inspected = self._decide(step)
        return self._is_inspected

    def is_due_in(self, forward: object) -> bool:
        """Whether to inspect this pass of the current training step: one of its first passes."""
        if not self.is_due():
            return False
        if not any(inspected is forward for inspected in self._forwards):
            if len(self._forwards) >= _MAX_FORWARDS:
                return False
            self._forwards.append(forward)
        return True

    def inspect_now(self) -> None:
        """Inspect the current step before its update, because its loss is far out of range."""
        step, session = self._steps_done, self._session
        is_allowed = session.plan.has_inspections and not session.windows.is_open
        has_paused = not self._unusual_steps or step >= self._last + _MIN_PAUSE_STEPS
        if is_allowed and has_paused and self._unusual_steps < _MAX_UNUSUAL_STEPS:
            self._unusual_steps += 1
            self._step = self._last = step
            self._is_inspected = self.is_early = True

    def steps_until_early(self) -> int:
        """Number of steps until the next one that is inspected regardless of the budget."""
        step = self._steps_done
        due = [self._early_due, *(early for early in self._new_optimizer_steps if early >= step)]
        return max(0, min(due) - step)

    def timed(self, name: str, function: Callable[..., None]) -> Callable[..., None]:
        """Wrap a check: its time counts as inspection time, and a failure disables only it."""
        shielded = self._session.guard.shield(name, function, None)

        def timed_check(*arguments: object) -> None:
            began_ns = thread_cpu_ns()
            shielded(*arguments)
            self.charge((thread_cpu_ns() - began_ns) / NANOSECONDS)

        return timed_check

    def charge(self, seconds: float) -> None:
        """Charge time to the current inspection."""
        if self._is_inspected:
            self._spent_seconds += seconds
            self._session.overhead.budget.charge_close_inspection(seconds)

    def _decide(self, step: int) -> bool:
        if self._spent_seconds:
            self._price.learn(self._spent_seconds)
            self._spent_seconds = 0.0
        self.is_early = False
        if not self._session.plan.has_inspections or self._session.windows.is_open:
            return False  # a profile must show only the training itself
        if step > self._early_due + _SLACK_STEPS + self._counted:  # resumed from a checkpoint
            self._first = self._early_due = self.evaluations.first_step = step
        self._counted = 0
        budget = self._session.overhead.budget
        if step >= self._early_due:
            self._early_due = next_early_step(self._first, step)
            self.is_early = self._has_credit
        if step in self._new_optimizer_steps:
            self.is_early = self._has_credit
        has_paused = step >= self._last + _MIN_PAUSE_STEPS
        is_affordable = has_paused and budget.has_room_for_close_inspection(self._price)
        if not (self.is_early or is_affordable):
            return False
        self._last = step
        return True

    @property
    def _has_credit(self) -> bool:
        """Whether an early inspection may run on credit.

        After decoding the first profile, the worker thread owes some tenths of a second. This must
        not block inspections for a minute, since each of them adds little to the debt.
        """
        budget = self._session.overhead.budget
        is_thread_free = budget.background.saved_seconds >= -_MAX_THREAD_DEBT_SECONDS
        return budget.has_credit_inside and is_thread_free


def next_early_step(first: int, step: int) -> int:
    """The first early step after `step`, where early steps count from `first`.

    The series is the same in every job, however late a step was inspected, so jobs are comparable.
    """
    past, due = step - first, 0
    while due <= past:
        growth = _GROWTH if due < _LATER_STEP else _LATER_GROWTH
        due = max(due + 1, round(due * growth + 0.01))
    return first + due
