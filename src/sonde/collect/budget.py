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


@dataclass(slots=True)
class Allowance:
    """A share of training time that may be spent."""

    share: float
    credit_seconds: float = 0.0  # that may be owed at the beginning
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

    @property
    def is_creditworthy(self) -> bool:
        """Whether no more is owed than may be."""
        return self.saved_seconds >= -self.credit_seconds


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
        share = _COUNTED * percent / 100
        credit_seconds = percent / 100 * _REMEMBERED_SECONDS
        self.inline = Allowance(share, credit_seconds)
        self.norms = Allowance(share / 2)
        self.looks = Allowance(share / 3)
        self.behind = Allowance(0.4 * share, credit_seconds)
        self.hook_seconds = 0.0
        self.thread_seconds = 0.0
        self.training_seconds = 0.0

    def step_over(self, training_seconds: float, hook_seconds: float) -> None:
        """A step took so long, of which the hook took so much."""
        self.training_seconds += training_seconds
        self.hook_seconds += hook_seconds
        self.inline.earn(training_seconds)
        self.norms.earn(training_seconds)
        self.looks.earn(training_seconds)
        self.behind.earn(training_seconds)
        self.inline.spend(hook_seconds)

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
        return self.inline.is_creditworthy and self.behind.is_creditworthy

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
