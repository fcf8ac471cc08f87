"""The interval between comparisons of workers, chosen so that workers share steps."""

from sonde.hook.budget import Price
from sonde.hook.session import Session

_SHARE = 0.25  # of the overhead budget
_INSPECTION_SECONDS = 2e-4  # added cost of a step whose hooks are not deferred
_CHEAP_SECONDS = 5e-3  # checks below this cost run more often at the beginning


class CheckInterval:
    """The requested interval times a power of two, so that checks fit the budget.

    Workers that choose different factors still have steps in common.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._price = Price()
        self._multiple = 1
        self._first_check: tuple[int, float] | None = (
            None  # step and training time of the first check
        )

    def is_due(self, step: int) -> bool:
        """Return whether workers are compared at a step."""
        every = self._session.settings.replica_check_every
        if not every or step % every:
            return False
        number = step // every
        return number % self._multiple == 0 or (self._is_cheap and number & (number - 1) == 0)

    def adapt(self, step: int, price_seconds: float) -> None:
        """Update the interval from the cost of the last check and the duration of steps."""
        seconds = self._session.overhead.budget.training_seconds
        if self._first_check is None:
            self._first_check = step, seconds
        else:
            self._price.learn(price_seconds)
        steps, trained = step - self._first_check[0], seconds - self._first_check[1]
        if steps <= 0 or trained <= 0:
            return
        share = _SHARE * self._session.settings.overhead_percent / 100
        needed = ((self._price.seconds or 0.0) + _INSPECTION_SECONDS) / (share * trained / steps)
        self._multiple = 1
        while self._multiple * self._session.settings.replica_check_every < needed:
            self._multiple *= 2

    @property
    def _is_cheap(self) -> bool:
        return (self._price.seconds or 0.0) <= _CHEAP_SECONDS
