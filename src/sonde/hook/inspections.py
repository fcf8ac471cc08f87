"""When a training is looked at more closely, for what no rule needs of every step.

Often at its beginning, where most faults show: the steps 0, 1, 2, 3, 5, 8, 12, 18, 27, each half as
late again as the one before, and then 34, 43, 54 and so on, each a quarter later. Between these, as
often as a part of the overhead budget allows, at the first steps of an optimizer that is made
later, since something new begins there, and at steps whose loss is far out of range.
"""

from collections.abc import Callable

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.budget import Price
from sonde.hook.session import Session

_GROWTH = 1.5
_LATER_GROWTH = 1.25  # a job of seconds has some hundred steps: so it is seen all along
_LATER_STEP = 27
_PAUSE_STEPS = 20  # at least, between two looks that are not early ones
_SLACK_STEPS = 64  # an early look may be late by that much: a profile was under way
_NEW_STEPS = (0, 1, 2, 3, 5, 8)  # of an optimizer that is made later
_NEW_PAUSE_STEPS = 100  # some scripts make one for every few batches
_MOST_FORWARDS = 4  # passes of one step: optimizers may take turns in it
_MOST_PASSES = 64  # of one evaluation
_MOST_OWED_BY_THREAD_SECONDS = 1.0  # five times what a profile of Python takes
_MOST_UNUSUAL = 8  # steps of a job that are inspected since their loss is out of range


class Looks:
    """Decides once a step; whoever looks at something asks, and says what it took."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._price = Price()
        self._start_anew()
        session.listeners.on_begin(self._start_anew)

    def _start_anew(self) -> None:
        self._first = self._early_due = self._evaluation_due = self._steps_done
        self._step = -1
        self._is_look = False
        self.is_early = False  # the step under way is one that is looked at whatever it costs
        self._last = self._steps_done
        self._new: tuple[int, ...] = ()  # steps that are early ones, too
        self._spent = 0.0
        self._forwards: list[object] = []  # passes of the step that are looked at
        self._evaluated_at = -1
        self._passes = 0
        self._unusual = 0
        self._counted = 0  # steps since the last decision that no hook has seen

    def steps_counted(self, steps: int) -> None:
        """Steps were only counted: nobody has asked whether they are looked at."""
        self._counted += steps

    @property
    def _steps_done(self) -> int:
        return self._session.steps.counts["train"]

    def begins_anew(self) -> None:
        """From the next step on, another optimizer may train."""
        step = self._steps_done
        has_rested = not self._new or step >= self._new[0] + _NEW_PAUSE_STEPS
        if step > self._first and has_rested:
            self._new = tuple(step + more for more in _NEW_STEPS)

    def is_due(self) -> bool:
        """Whether the training step under way is looked at."""
        step = self._steps_done
        if step != self._step:
            self._step = step
            self._forwards.clear()
            self._is_look = self._decide(step)
        return self._is_look

    def is_due_in(self, forward: object) -> bool:
        """Whether a pass of the training step under way is looked at: its first ones may be."""
        if not self.is_due():
            return False
        if not any(one is forward for one in self._forwards):
            if len(self._forwards) >= _MOST_FORWARDS:
                return False
            self._forwards.append(forward)
        return True

    def inspect_now(self) -> None:
        """Inspects the step under way, whose loss is far out of range, before it is updated."""
        step, session = self._steps_done, self._session
        is_allowed = session.plan.has_looks and not session.windows.is_open
        has_rested = not self._unusual or step >= self._last + _PAUSE_STEPS
        if is_allowed and has_rested and self._unusual < _MOST_UNUSUAL:
            self._unusual += 1
            self._step = self._last = step
            self._is_look = self.is_early = True

    def steps_until_early(self) -> int:
        """Steps until the next one that is looked at whatever it costs."""
        step = self._steps_done
        due = [self._early_due, *(one for one in self._new if one >= step)]
        return max(0, min(due) - step)

    def evaluates(self) -> None:
        """A pass of an evaluation begins that is watched closely."""
        step = self._steps_done
        if step != self._evaluated_at:
            self._evaluated_at, self._passes = step, 0
            self._evaluation_due = self._after(step)
        self._passes += 1

    @property
    def is_due_in_evaluation(self) -> bool:
        """Whether the pass of an evaluation is looked at: the first ones of each are."""
        return self._passes <= _MOST_PASSES

    def wants_evaluation(self, within_steps: int) -> bool:
        """Whether an evaluation is to be watched closely, if one comes within so many steps."""
        return self._steps_done + within_steps >= self._evaluation_due

    def part(self, name: str, function: Callable[..., None]) -> Callable[..., None]:
        """A function as a part of looks: if it fails it is left out alone; its time counts."""
        shielded = self._session.guard.shield(name, function, None)

        def timed(*arguments: object) -> None:
            began_ns = thread_cpu_ns()
            shielded(*arguments)
            self.took((thread_cpu_ns() - began_ns) / NANOSECONDS)

        return timed

    def took(self, seconds: float) -> None:
        """A part of a look took so long."""
        if self._is_look:
            self._spent += seconds
            self._session.overhead.budget.look_took(seconds)

    def _decide(self, step: int) -> bool:
        if self._spent:
            self._price.learn(self._spent)
            self._spent = 0.0
        self.is_early = False
        if not self._session.plan.has_looks or self._session.windows.is_open:
            return False  # a profile shows what the training does
        if step > self._early_due + _SLACK_STEPS + self._counted:
            self._first = self._early_due = step  # it goes on from a checkpoint
        self._counted = 0
        budget = self._session.overhead.budget
        if step >= self._early_due:
            self._early_due = self._after(step)
            self.is_early = self._has_credit
        if step in self._new:
            self.is_early = self._has_credit
        has_rested = step >= self._last + _PAUSE_STEPS
        if not (self.is_early or (has_rested and budget.has_room_for_look(self._price))):
            return False
        self._last = step
        return True

    @property
    def _has_credit(self) -> bool:
        """Whether an early look may be taken that training has not earned yet.

        The thread owes some tenths of a second once it has decoded the first profile, which would
        end all looks for a minute: what a look adds to that is small.
        """
        budget = self._session.overhead.budget
        is_thread_free = budget.behind.saved_seconds >= -_MOST_OWED_BY_THREAD_SECONDS
        return budget.has_credit_inside and is_thread_free

    def _after(self, step: int) -> int:
        """The next step of those that follow each other ever more slowly.

        They are the same in every job, whatever was late in it: so that jobs can be compared.
        """
        past, due = step - self._first, 0
        while due <= past:
            growth = _GROWTH if due < _LATER_STEP else _LATER_GROWTH
            due = max(due + 1, round(due * growth + 0.01))
        return self._first + due
