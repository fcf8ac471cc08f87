"""The overhead budget: tracks what recording costs, and decides when to measure more.

Training time fills an allowance, and hooks spend it. A measurement runs when the allowance covers
what it cost last time, so its interval grows by itself on models for which it is expensive.
"""

from dataclasses import dataclass, field
from math import ceil

_MAX_SAVED_SECONDS = 20.0  # of training: the most time whose share an allowance can save
_MEASURED_SHARE = 0.7  # of the budget; the rest is for cold caches and thread wake-ups
_SMOOTHING = 0.3
_FIRST_DISCOUNT = 0.3

# Costs of operations that are too frequent to time one by one, with cold caches, as measured by
# benchmarks/small_steps.py: a hook call, a deferred event, the end of a counted step, its loss.
COLD = 1.5  # factor on the measured time of a hook, since it leaves training with cold caches
ENTRY_NS = 3_000
NOTE_NS = 12_000
COUNTED_STEP_NS = 3_500
COUNTED_LOSS_NS = 4_000

# Most faults show at the beginning. Every step is recorded for three seconds, or until that has
# cost 60 ms (at a budget of 1%), which is 3% of a job of two seconds. Only part of the cost of the
# beginning is charged, so that it does not block the inspections that follow.
# Seconds of training below stand for the budget that they earn.
_BEGINNING_SECONDS = 3.0
_EVERY_STEP_SECONDS = 6.0  # the cost limit of recording every step
_CHARGED_EARLY = 0.4
_CREDIT_SECONDS = 20.0  # the largest debt at the beginning
_LATER_DEBT_SECONDS = 2.0  # the debt that remains after the beginning, if it was no larger than
_FORGIVEN_SECONDS = 20.0  # this
_MIN_INSPECTION_SHARE = 0.4  # of the budget is reserved from the cost of counting steps
_MAX_THREAD_DEBT_SECONDS = 1.0  # the thread decodes profiles, which takes some tenths of a second
_FIRST_CALLS = 200  # calls outside of training that are recorded regardless of the budget
_MAX_OVERDRAFT_SECONDS = 0.03  # per percent of budget: debt of calls outside of training


@dataclass(slots=True)
class Allowance:
    """A share of the training time that may be spent."""

    share: float
    saved_seconds: float = 0.0

    @property
    def max_seconds(self) -> float:
        """The most that can be saved."""
        return self.share * _MAX_SAVED_SECONDS

    def earn(self, training_seconds: float) -> None:
        """Add the share of this training time."""
        saved = self.saved_seconds + self.share * training_seconds
        limit = self.max_seconds
        self.saved_seconds = saved if saved < limit else limit

    def covers(self, seconds: float) -> bool:
        """Whether this much may be spent; a full allowance covers any amount, on debt."""
        return self.saved_seconds >= min(seconds, self.max_seconds)

    def steps_until(self, seconds: float, step_seconds: float) -> int:
        """Number of steps of this length until this much may be spent."""
        missing = min(seconds, self.max_seconds) - self.saved_seconds
        return max(0, ceil(missing / (self.share * step_seconds)))

    def spend(self, seconds: float) -> None:
        """Subtract the cost of a measurement."""
        self.saved_seconds -= seconds

    def forgive(self, max_seconds: float, down_to_seconds: float) -> None:
        """Reduce a debt of up to `max_seconds` to `down_to_seconds`."""
        if down_to_seconds < -self.saved_seconds <= max_seconds:
            self.saved_seconds = -down_to_seconds

    def owes_more_than(self, seconds: float) -> bool:
        """Whether the debt exceeds this many seconds."""
        return self.saved_seconds < -seconds


@dataclass(slots=True)
class Price:
    """The smoothed cost of one kind of measurement; None before the first one."""

    seconds: float | None = None

    def learn(self, seconds: float) -> None:
        """Update the estimate; the first measurement is discounted, since it allocates memory."""
        estimate = self.seconds
        if estimate is None:
            self.seconds = _FIRST_DISCOUNT * seconds
        else:
            self.seconds = estimate + _SMOOTHING * (seconds - estimate)


@dataclass(slots=True)
class Measurement:
    """A measurement that runs as often as the budget allows, with its cost in both threads."""

    inline: Price = field(default_factory=Price)  # in the training thread or on its device
    background: Price = field(default_factory=Price)  # in the worker thread
    last_step: int | None = None
    interval: int = 1  # steps between the last two


class Budget:
    """The allowances of a worker: for hooks inside the step, and for the worker thread.

    The gradient norm is cheap and useful at every step; it may spend half of the inline allowance,
    which leaves room for the rest. Close inspections may spend a third, because the statistics of
    weights and gradients, which cost less each time, would otherwise leave nothing for them. The
    thread gets another 40%: without a spare core, training pays for both.
    """

    def __init__(self, percent: float) -> None:
        self.percent = percent
        self.share = share = _MEASURED_SHARE * percent / 100
        self.inline = Allowance(share)
        self.norms = Allowance(share / 2)
        self.close_inspections = Allowance(share / 3)
        self.outside = Allowance(share / 2)
        self.background = Allowance(0.4 * share)
        self._inspection = Price()
        self._is_compared = False  # the price comes from a comparison with uninspected steps
        self._calls_outside = 0
        self.latest_inspection_seconds = 0.0
        self.hook_seconds = 0.0
        self.thread_seconds = 0.0
        self.training_seconds = 0.0

    def add_step(
        self, training_seconds: float, hook_seconds: float, one_off_seconds: float = 0.0
    ) -> None:
        """Account for a step.

        Args:
            training_seconds: Its duration.
            hook_seconds: The part of it that hooks took.
            one_off_seconds: The part of that which does not recur.
        """
        was_beginning, recorded_every_step = self.is_beginning, self.records_every_step
        self.training_seconds += training_seconds
        self.hook_seconds += hook_seconds
        self.inline.earn(training_seconds)
        self.norms.earn(training_seconds)
        self.close_inspections.earn(training_seconds)
        self.outside.earn(training_seconds)
        self.background.earn(training_seconds)
        recurring_seconds = hook_seconds - one_off_seconds
        charged = _CHARGED_EARLY if was_beginning else 1.0
        self.inline.spend(charged * recurring_seconds)
        if recorded_every_step and not self.records_every_step:
            self.inline.forgive(self._budget_for(_FORGIVEN_SECONDS), 0.0)
        if was_beginning and not self.is_beginning:
            for allowance in (self.inline, self.outside):
                allowance.forgive(
                    self._budget_for(_FORGIVEN_SECONDS), self._budget_for(_LATER_DEBT_SECONDS)
                )

    def add_counted_steps(self, training_seconds: float, hook_seconds: float) -> None:
        """Account for steps that were only counted, reserving a share for inspections."""
        self.add_step(training_seconds, 0.0)
        self.hook_seconds += hook_seconds
        max_seconds = (1 - _MIN_INSPECTION_SHARE) * self.share * training_seconds
        self.inline.spend(min(hook_seconds, max_seconds))

    def charge_norm(self, seconds: float) -> None:
        """Charge the gradient norm's part of the hook time to its allowance."""
        self.norms.spend(seconds)

    def has_room_for_norm(self, measurement: Measurement) -> bool:
        """Whether the gradient norm may be computed now."""
        price = measurement.inline.seconds
        return price is None or self.norms.covers(price)

    def charge_close_inspection(self, seconds: float) -> None:
        """Charge a close inspection's part of the hook time to its allowance."""
        self.close_inspections.spend(seconds)

    def has_room_for_close_inspection(self, price: Price) -> bool:
        """Whether a close inspection may run now."""
        has_earned = price.seconds is None or self.close_inspections.covers(price.seconds)
        return has_earned and self.background.saved_seconds >= 0

    @property
    def has_credit(self) -> bool:
        """Whether a measurement at the beginning may run on credit."""
        return self.has_credit_inside and not self.background.owes_more_than(
            self._budget_for(_CREDIT_SECONDS)
        )

    @property
    def has_credit_inside(self) -> bool:
        """Whether a measurement inside the step may run on credit."""
        return not self.inline.owes_more_than(self._budget_for(_CREDIT_SECONDS))

    def _budget_for(self, training_seconds: float) -> float:
        return self.percent / 100 * training_seconds

    @property
    def is_beginning(self) -> bool:
        """Whether training has just begun."""
        return self.training_seconds < _BEGINNING_SECONDS

    @property
    def records_every_step(self) -> bool:
        """Whether training has just begun, and recording every step has not cost too much yet."""
        return self.is_beginning and self.hook_seconds < self._budget_for(_EVERY_STEP_SECONDS)

    @property
    def is_overdrawn(self) -> bool:
        """Whether calls outside of training have exceeded their allowance."""
        is_overdrawn = self.outside.owes_more_than(_MAX_OVERDRAFT_SECONDS * self.percent)
        is_exempt = self.records_every_step or self._calls_outside <= _FIRST_CALLS
        return is_overdrawn and not is_exempt

    def charge_outside_call(self, seconds: float) -> None:
        """Charge the hook time of a call outside of training."""
        self._calls_outside += 1
        if self._calls_outside > _FIRST_CALLS:
            self.outside.spend(seconds)

    def charge_interruption(self, timed_seconds: float) -> None:
        """Charge a step that was inspected only because an evaluation brought the hooks back.

        Args:
            timed_seconds: Time measured by the hooks; the full inspection costs more.
        """
        price = self._inspection.seconds if self._is_compared else None
        seconds = max(timed_seconds, price or 0.0)
        self.hook_seconds += seconds - timed_seconds
        if self._calls_outside > _FIRST_CALLS:
            self.outside.spend(seconds)

    def learn_inspection(self, seconds: float, *, is_hidden: bool = False) -> None:
        """Learn the cost of an inspected step.

        Args:
            seconds: Time in hooks.
            is_hidden: Whether training waited for a device meanwhile, so that it cost nothing.
        """
        self.latest_inspection_seconds = 0.0 if is_hidden else seconds
        if is_hidden:
            self._inspection.learn(0.0)
        elif not self._is_compared:
            self._inspection.learn(seconds)

    def learn_inspection_cost(self, seconds: float, timed_seconds: float) -> None:
        """Learn the full cost of an inspection, and charge what the hooks did not measure."""
        self._is_compared = True
        self._inspection.learn(seconds)
        missing = seconds - timed_seconds
        if missing > 0:
            self.hook_seconds += missing
            self.inline.spend(missing)

    @property
    def has_room_for_inspection(self) -> bool:
        """Whether a step may be inspected now."""
        price = self._inspection.seconds
        is_thread_free = not self.background.owes_more_than(_MAX_THREAD_DEBT_SECONDS)
        return is_thread_free and (price is None or self.inline.covers(price))

    def inspection_share(self, step_seconds: float) -> float:
        """Cost of inspecting every step of this length, as a share of the budget."""
        return (self._inspection.seconds or 0.0) / (self.share * step_seconds)

    def steps_until_inspection(self, step_seconds: float) -> int:
        """Number of steps of this length until the next inspection fits the budget."""
        return self.inline.steps_until(self._inspection.seconds or 0.0, step_seconds)

    def charge_device(self, seconds: float) -> None:
        """Charge time that a device spent on measurements in the queue of training work."""
        self.hook_seconds += seconds
        self.inline.spend(seconds)

    def charge_thread(self, seconds: float) -> None:
        """Charge CPU time of the worker thread."""
        self.thread_seconds += seconds
        self.background.spend(seconds)

    def has_room_for(self, measurement: Measurement) -> bool:
        """Whether a measurement may run now; the first one may, since its cost is unknown."""
        inline, background = measurement.inline.seconds, measurement.background.seconds
        if inline is None:
            return True
        return self.inline.covers(inline) and (
            background is None or self.background.covers(background)
        )

    def steps_until_room(self, measurement: Measurement, step_seconds: float) -> int:
        """Number of steps of this length until a measurement fits the budget."""
        return max(
            self.inline.steps_until(measurement.inline.seconds or 0.0, step_seconds),
            self.background.steps_until(measurement.background.seconds or 0.0, step_seconds),
        )

    def begin(self, measurement: Measurement, step: int) -> None:
        """Record that a measurement runs at this step."""
        if measurement.last_step is not None:
            measurement.interval = max(1, step - measurement.last_step)
        measurement.last_step = step
