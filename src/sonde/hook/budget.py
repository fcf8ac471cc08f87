"""What watching may cost: counts it, and says when there is room for more.

Time that training earns fills an allowance, what the hook takes empties it. A measurement that is
worth waiting for is made when the allowance covers what it cost last time: so its interval grows
by itself on a model for which it is expensive.
"""

from dataclasses import dataclass, field
from math import ceil

_REMEMBERED_SECONDS = 20.0  # of training: allowances do not pile up beyond what that earns
_COUNTED = 0.7  # of what may be spent; caches that grow cold and threads that wake no clock shows
_SMOOTHING = 0.3
_AFTER_THE_FIRST = 0.3

# What is too frequent to be timed one by one, with cold caches, as benchmarks/small_steps.py finds
# it: entering and leaving a hook, a note, the end of a step that is only counted, its loss.
COLD = 1.5  # times what a hook's own clock shows: the training finds its caches cold after it
ENTRY_NS = 3_000
NOTE_NS = 12_000
COUNTED_STEP_NS = 6_000
COUNTED_LOSS_NS = 4_000

# Most faults show at the beginning. Every step is watched for three seconds, or until that has
# cost 60 ms (at a budget of 1%), which is 3% of a job of two seconds. What the beginning costs is
# charged in part, since it must not end the inspections that follow.
_BEGINNING_SECONDS = 3.0
_WATCHED_SECONDS = 6.0  # of training, at the whole budget: the cost of watching every step
_CHARGED_EARLY = 0.4
_CREDIT_SECONDS = 20.0  # of training, at the whole budget: may be owed at the beginning
_OWED_LATER_SECONDS = 2.0  # at the whole budget: what is owed after the beginning, if no more than
_FORGIVEN_SECONDS = 20.0  # was owed before
_LEAST_INSPECTED = 0.4  # of the budget is left for inspections, where counting steps takes more
_MOST_OWED_SECONDS = 1.0  # by the thread: it decodes profiles, which takes some tenths
_FIRST_CALLS = 200  # outside of training: seen whatever they cost
_OVERDRAWN_SECONDS = 0.03  # for each percent: owed at most by calls outside of training


@dataclass(slots=True)
class Allowance:
    """A share of training time that may be spent."""

    share: float
    saved_seconds: float = 0.0

    @property
    def most_seconds(self) -> float:
        """That can be saved."""
        return self.share * _REMEMBERED_SECONDS

    def earn(self, training_seconds: float) -> None:
        """Training went on."""
        saved = self.saved_seconds + self.share * training_seconds
        most = self.most_seconds
        self.saved_seconds = saved if saved < most else most

    def covers(self, seconds: float) -> bool:
        """Whether so much may be spent; what is dearer than all that can be saved is owed then."""
        return self.saved_seconds >= min(seconds, self.most_seconds)

    def steps_until(self, seconds: float, step_seconds: float) -> int:
        """Steps of that length until so much may be spent."""
        missing = min(seconds, self.most_seconds) - self.saved_seconds
        return max(0, ceil(missing / (self.share * step_seconds)))

    def spend(self, seconds: float) -> None:
        """Something was measured."""
        self.saved_seconds -= seconds

    def forgive(self, most_seconds: float, down_to_seconds: float) -> None:
        """What is owed need not be earned, but for a little; unless something was very dear."""
        if down_to_seconds < -self.saved_seconds <= most_seconds:
            self.saved_seconds = -down_to_seconds

    def owes_more_than(self, seconds: float) -> bool:
        """Whether more is owed than that."""
        return self.saved_seconds < -seconds


@dataclass(slots=True)
class Price:
    """What one kind of measurement costs, by experience; unknown until the first time."""

    seconds: float | None = None

    def learn(self, seconds: float) -> None:
        """Remembers what it cost just now; the first time is dear: memory is found for it."""
        known = self.seconds
        if known is None:
            self.seconds = _AFTER_THE_FIRST * seconds
        else:
            self.seconds = known + _SMOOTHING * (seconds - known)


@dataclass(slots=True)
class Measurement:
    """A measurement that is repeated as often as the budget allows: here, and in the thread."""

    inline: Price = field(default_factory=Price)
    behind: Price = field(default_factory=Price)
    last_step: int | None = None
    interval: int = 1  # steps between the last two


class Budget:
    """The allowances of a worker: inside the step, and behind it in the writer's thread.

    The gradient norm, which is cheap and wanted at every step, may take half of what may be spent
    inside, so that it leaves room for the rest. Looks may take a third: statistics of weights and
    gradients, which cost less each time, would leave nothing for them. The thread may take two
    fifths as much again: where training has no core to spare, it is training that pays for both.
    """

    def __init__(self, percent: float) -> None:
        self.percent = percent
        self.share = share = _COUNTED * percent / 100
        self.inline = Allowance(share)
        self.norms = Allowance(share / 2)
        self.looks = Allowance(share / 3)
        self.outside = Allowance(share / 2)
        self.behind = Allowance(0.4 * share)
        self._inspection = Price()
        self._is_compared = False  # the price of inspections with steps that had none
        self._calls_outside = 0
        self.latest_inspection_seconds = 0.0
        self.hook_seconds = 0.0
        self.thread_seconds = 0.0
        self.training_seconds = 0.0

    def step_over(self, training_seconds: float, hook_seconds: float) -> None:
        """A step took so long, of which the hook took so much."""
        was_beginning, has_watched = self.is_beginning, self.watches_every_step
        self.training_seconds += training_seconds
        self.hook_seconds += hook_seconds
        self.inline.earn(training_seconds)
        self.norms.earn(training_seconds)
        self.looks.earn(training_seconds)
        self.outside.earn(training_seconds)
        self.behind.earn(training_seconds)
        self.inline.spend(_CHARGED_EARLY * hook_seconds if was_beginning else hook_seconds)
        if has_watched and not self.watches_every_step:
            self.inline.forgive(self._of(_FORGIVEN_SECONDS), 0.0)
        if was_beginning and not self.is_beginning:
            for allowance in (self.inline, self.outside):
                allowance.forgive(self._of(_FORGIVEN_SECONDS), self._of(_OWED_LATER_SECONDS))

    def counted(self, training_seconds: float, hook_seconds: float) -> None:
        """Steps were only counted; that cannot be had for less, and leaves something for others."""
        self.step_over(training_seconds, 0.0)
        self.hook_seconds += hook_seconds
        most_seconds = (1 - _LEAST_INSPECTED) * self.share * training_seconds
        self.inline.spend(min(hook_seconds, most_seconds))

    def norm_took(self, seconds: float) -> None:
        """The norm took so much of what the hook takes in all."""
        self.norms.spend(seconds)

    def has_room_for_norm(self, measurement: Measurement) -> bool:
        """Whether the gradient norm may be computed now."""
        price = measurement.inline.seconds
        return price is None or self.norms.covers(price)

    def look_took(self, seconds: float) -> None:
        """A look took so much of what the hook takes in all."""
        self.looks.spend(seconds)

    def has_room_for_look(self, price: Price) -> bool:
        """Whether a look may be taken now."""
        has_earned = price.seconds is None or self.looks.covers(price.seconds)
        return has_earned and self.behind.saved_seconds >= 0

    @property
    def has_credit(self) -> bool:
        """Whether something may be done at the beginning that training has not earned yet."""
        return self.has_credit_inside and not self.behind.owes_more_than(self._of(_CREDIT_SECONDS))

    @property
    def has_credit_inside(self) -> bool:
        """The same, inside the step."""
        return not self.inline.owes_more_than(self._of(_CREDIT_SECONDS))

    def _of(self, training_seconds: float) -> float:
        return self.percent / 100 * training_seconds

    @property
    def is_beginning(self) -> bool:
        """Whether training has only begun."""
        return self.training_seconds < _BEGINNING_SECONDS

    @property
    def watches_every_step(self) -> bool:
        """Whether training has only begun, and watching every step of it did not cost much yet."""
        return self.is_beginning and self.hook_seconds < self._of(_WATCHED_SECONDS)

    @property
    def is_overdrawn(self) -> bool:
        """Whether calls outside of training have cost more than they may."""
        is_overdrawn = self.outside.owes_more_than(_OVERDRAWN_SECONDS * self.percent)
        is_seen = self.watches_every_step or self._calls_outside <= _FIRST_CALLS
        return is_overdrawn and not is_seen

    def outside_took(self, seconds: float) -> None:
        """Calls outside of training took so much of what the hook takes in all."""
        self._calls_outside += 1
        if self._calls_outside > _FIRST_CALLS:
            self.outside.spend(seconds)

    def interruption_took(self, timed_seconds: float) -> None:
        """After an evaluation a step was watched closely, since its hooks were there.

        Args:
            timed_seconds: What the hooks have timed; an inspection is known to take more.
        """
        price = self._inspection.seconds if self._is_compared else None
        seconds = max(timed_seconds, price or 0.0)
        self.hook_seconds += seconds - timed_seconds
        if self._calls_outside > _FIRST_CALLS:
            self.outside.spend(seconds)

    def inspected(self, seconds: float) -> None:
        """A step was inspected, which took so much of it."""
        self.latest_inspection_seconds = seconds
        if not self._is_compared:
            self._inspection.learn(seconds)

    def inspection_cost(self, seconds: float, timed_seconds: float) -> None:
        """An inspection took so much in all, of which the hooks have timed a part themselves."""
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
        is_thread_free = not self.behind.owes_more_than(_MOST_OWED_SECONDS)
        return is_thread_free and (price is None or self.inline.covers(price))

    def inspection_share(self, step_seconds: float) -> float:
        """What inspecting every step of that length would cost, as a share of what may be spent."""
        return (self._inspection.seconds or 0.0) / (self.share * step_seconds)

    def steps_until_inspection(self, step_seconds: float) -> int:
        """Steps of that length until there is room for the next inspection."""
        return self.inline.steps_until(self._inspection.seconds or 0.0, step_seconds)

    def device_took(self, seconds: float) -> None:
        """A device has measured for so long, in the queue of the training's own work."""
        self.hook_seconds += seconds
        self.inline.spend(seconds)

    def thread_took(self, seconds: float) -> None:
        """The thread used so much CPU time."""
        self.thread_seconds += seconds
        self.behind.spend(seconds)

    def has_room_for(self, measurement: Measurement) -> bool:
        """Whether it may be made now; the first time it may, for nobody knows its price."""
        inline, behind = measurement.inline.seconds, measurement.behind.seconds
        if inline is None:
            return True
        return self.inline.covers(inline) and (behind is None or self.behind.covers(behind))

    def steps_until_room(self, measurement: Measurement, step_seconds: float) -> int:
        """Steps of that length until there is room; 0: there is now."""
        return max(
            self.inline.steps_until(measurement.inline.seconds or 0.0, step_seconds),
            self.behind.steps_until(measurement.behind.seconds or 0.0, step_seconds),
        )

    def begin(self, measurement: Measurement, step: int) -> None:
        """It is made at this step."""
        if measurement.last_step is not None:
            measurement.interval = max(1, step - measurement.last_step)
        measurement.last_step = step
